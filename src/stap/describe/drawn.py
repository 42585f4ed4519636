"""A drawn figure as data: what each of its axes shows, so that a page can draw it again and give every value.

Whoever draws with matplotlib gets this for nothing. Lines, points, bars, deviations and levels are told; areas and
words on the figure are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 400  # points of a series; of more the median of every stretch
DIGITS = 6  # that count
NO_MARK = ("None", "none", "", " ", None)
Series = dict[str, Any]


class Artist(Protocol):
    """Whatever has a label; and a gid, which names it where the legend should not."""

    def get_label(self) -> object: ...


def told(figure: Figure, explained: str) -> dict[str, Any]:
    """{"explained", "charts": [...]}: a chart for each of the axes."""
    return {"explained": explained, "charts": [_chart(axes) for axes in figure.axes]}


def _chart(axes: Axes) -> dict[str, Any]:
    return {
        "title": _plain(axes.get_title("left") or axes.get_title()),
        "x": _axis(axes.xaxis, axes.get_xlabel(), axes.get_xlim()),
        "y": _axis(axes.yaxis, axes.get_ylabel(), axes.get_ylim()),
        "series": list(_named(_series(axes))),
    }


def _axis(axis: Axis, label: str, limits: Iterable[float]) -> dict[str, Any]:
    told: dict[str, Any] = {"label": _plain(label), "scale": axis.get_scale(), "limits": _numbers(limits)}
    if told["scale"] == "log":
        told["base"] = getattr(axis.get_transform(), "base", 10)
    if isinstance(axis.get_major_locator(), FixedLocator):  # whoever says where ticks are says what they are called
        places = _numbers(axis.get_majorticklocs())
        names = axis.get_major_formatter().format_ticks(axis.get_majorticklocs().tolist())
        told["names"] = [[place, _plain(name)] for place, name in zip(places, names, strict=True)]
    return told


def _series(axes: Axes) -> Iterator[Series]:
    """Bars and deviations first: the lines they are made of are none of their own."""
    parts: set[int] = set()
    for container in axes.containers:
        if isinstance(container, BarContainer):
            yield _bars(container)
        elif isinstance(container, ErrorbarContainer):
            line, caps, spans = container.lines
            parts |= {id(each) for each in (line, *caps)}
            if line is not None:
                yield _line(line) | {"label": _label(container)} | _deviation(line, spans[0], container.has_xerr)
    for line in axes.lines:
        if id(line) in parts or not len(np.atleast_1d(line.get_xdata())):
            continue
        yield _level(line, axes) if line.get_transform() != axes.transData else _line(line)
    for cloud in axes.collections:
        offsets = np.ma.getdata(cloud.get_offsets())
        if id(cloud) not in parts and type(cloud).__name__ == "PathCollection":
            colour = to_hex(np.atleast_2d(np.asarray(cloud.get_facecolor(), float))[0].tolist())
            yield {"kind": "points", "label": _label(cloud), "colour": colour, "mark": "o", **_points(*offsets.T)}


def _line(line: Line2D) -> Series:
    mark, drawn = line.get_marker(), line.get_linestyle() not in NO_MARK
    found: Series = {
        "kind": "line" if drawn else "points",
        "label": _label(line),
        "colour": to_hex(line.get_color()),
        **_points(np.atleast_1d(line.get_xdata()), np.atleast_1d(line.get_ydata())),
    }
    if drawn and line.get_linestyle() != "-":
        found["dash"] = line.get_linestyle()
    if mark not in NO_MARK:
        found["mark"] = str(mark)
        if to_hex(line.get_markerfacecolor()) == "#ffffff":
            found["hollow"] = True
    return found


def _level(line: Line2D, axes: Axes) -> Series:
    """A line across the whole of the axes, at one value of x or of y."""
    across = line.get_transform() == axes.get_yaxis_transform(which="grid")
    value = np.atleast_1d(line.get_ydata() if across else line.get_xdata())
    kind = "level" if across else "upright"
    return {"kind": kind, "label": _label(line), "colour": to_hex(line.get_color()), "at": _numbers(value[:1])[0]}


def _bars(container: BarContainer) -> Series:
    """Each from `base` to its value; `flat` where they lie."""
    flat = container.orientation == "horizontal"
    boxes = [patch for patch in container.patches if isinstance(patch, Rectangle)]
    middle = [(box.get_y() + box.get_height() / 2) if flat else (box.get_x() + box.get_width() / 2) for box in boxes]
    ends = [box.get_x() + box.get_width() if flat else box.get_y() + box.get_height() for box in boxes]
    thick = [box.get_height() if flat else box.get_width() for box in boxes]
    colour = to_hex(boxes[0].get_facecolor()) if boxes else "#000000"
    places = {"x": _numbers(ends), "y": _numbers(middle)} if flat else {"x": _numbers(middle), "y": _numbers(ends)}
    told = {"kind": "bars", "label": _label(container), "colour": colour, "thick": _numbers(thick), **places}
    return told | {"flat": True} if flat else told


def _deviation(line: Line2D, spans: Any, along_x: bool) -> Series:
    """Half of each span beside a point."""
    ends = [np.asarray(each) for each in spans.get_segments()]
    column = 0 if along_x else 1
    half = [abs(each[1][column] - each[0][column]) / 2 for each in ends]
    return {"deviation": _numbers(half), "along": "x" if along_x else "y"} if any(half) else {}


def _points(x: Any, y: Any) -> dict[str, list[float | None]]:
    """Of a great many the medians of stretches of equal length."""
    if len(x) > MOST:
        parts = [np.array_split(np.asarray(each, float), MOST) for each in (x, y)]
        x, y = ([float(np.median(part)) for part in each] for each in parts)
    return {"x": _numbers(x), "y": _numbers(y)}


def _named(series: Iterable[Series]) -> Iterator[Series]:
    """One without a name is another run of the one before that looks the same, where there is one."""
    names: dict[tuple[str, str], str] = {}
    for each in series:
        look = each["colour"], each.get("dash", "")
        names.setdefault(look, each["label"]) if each["label"] else None
        yield each | {"label": each["label"] or names.get(look, ""), "again": not each["label"] and look in names}


def _label(artist: Artist) -> str:
    label = str(artist.get_label() or "")
    named = getattr(artist, "get_gid", str)() or "" if not label or label.startswith("_") else label
    return _plain(named)


def _plain(text: str) -> str:
    """As `canvas.plain` got it."""
    return text.replace(r"\$", "$")


def _numbers(values: Iterable[Any]) -> list[float | None]:
    floats = (float(value) for value in values)
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in floats]
