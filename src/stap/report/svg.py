"""Charts of a result file drawn as SVG: colours of the page, so that dark and light look alike; a place per value.

Text in an SVG shrinks with it. So every chart is as wide as a phone, and a page puts as many side by side as it can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stap.report.html import Html, joined, tag
from stap.report.scale import Scale, words

WIDTH, HEIGHT = 460.0, 300.0
TOP, RIGHT, BOTTOM, LEFT = 30.0, 16.0, 46.0, 50.0
ROW = 17.0  # the least for each named row
LETTER = 6.6  # a letter's width
COLOURS = {  # what our figures are drawn with, told apart by everybody; the page has a dark and a light one of each
    "#0072b2": "blue",
    "#1f77b4": "blue",
    "#d55e00": "orange",
    "#ff7f0e": "orange",
    "#009e73": "green",
    "#cc79a7": "pink",
    "#56b4e9": "sky",
    "#e69f00": "yellow",
    "#f0e442": "yellow",
    "#dc143c": "red",
    "#ff0000": "red",
    "#8a96a3": "grey",
    "#22303f": "ink",
    "#000000": "ink",
}
DASHES = {"--": "7 4", "-.": "9 3 2 3", ":": "2 3"}
Point = tuple[float, float, str, str]  # place, and what is there


@dataclass(frozen=True)
class Drawn:
    """A chart, its legend, and what a pointer can find on it: a list of points for each series."""

    chart: Html
    legend: Html
    points: list[dict[str, Any]]


def draw(told: Mapping[str, Any], number: int) -> Drawn:
    """`number`: of this chart on its page."""
    left = max(LEFT, 14 + LETTER * min(24, max((len(name) for _, name in told["y"]["names"]), default=0)))
    height = max(HEIGHT, TOP + BOTTOM + ROW * len(told["y"]["names"]))
    x, y = Scale(told["x"], left, WIDTH - RIGHT), Scale(told["y"], height - BOTTOM, TOP)
    series = [each for each in told["series"] if each["kind"] not in ("level", "upright")]
    levels = [each for each in told["series"] if each["kind"] in ("level", "upright")]
    shapes = [*(_level(each, x, y) for each in levels), *(joined(_shapes(each, x, y)) for each in series)]
    clip = f"clip-{number}"
    inside = tag("rect", x=left, y=TOP - 6, width=WIDTH - RIGHT - left + 6, height=height - BOTTOM - TOP + 12)
    title = ": ".join(part for part in (told["title"], told["y"]["label"]) if part)
    chart = tag(
        "svg",
        tag("defs", tag("clipPath", inside, id=clip)),
        *_grid(x, y, left),
        tag("g", *shapes, clip_path=f"url(#{clip})"),
        *_labels(told, left, height),
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        tabindex="0",
        data_chart=number,
        aria_label=f"{title or 'Chart'}, by {told['x']['label'] or 'name'}. Arrow keys go from value to value.",
    )
    points = [{"s": each["label"], "c": _colour(each)[0], "p": list(_points(each, x, y))} for each in series]
    axes = {"x": told["x"]["label"], "y": told["y"]["label"]}
    return Drawn(chart, _legend(told["series"]), [axes, *(each for each in points if each["p"])])


def _grid(x: Scale, y: Scale, left: float) -> Iterator[Html]:
    for place, name in y.ticks():
        yield tag("line", class_="grid", x1=left, x2=WIDTH - RIGHT, y1=place, y2=place)
        yield tag("text", _short(name), class_="tick", x=left - 7, y=place + 4, text_anchor="end")
    for place, name in _apart(x.ticks()):
        yield tag("line", class_="grid", x1=place, x2=place, y1=TOP, y2=y.begin)
        for row, line in enumerate(name.split("\n")[:2]):
            at = y.begin + 16 + 12 * row
            yield tag("text", _short(line), class_="tick", x=place, y=at, text_anchor="middle")


def _apart(ticks: list[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """Those whose words do not run into the ones before."""
    free = 0.0
    for place, name in sorted(ticks):
        half = LETTER * max(map(len, _short(name).split("\n")), default=0) / 2
        if place - half >= free or not free:
            free = place + half + 4
            yield place, name


def _short(name: str) -> str:
    return name if len(name) <= 24 or "\n" in name else name[:23] + "…"


def _labels(told: Mapping[str, Any], left: float, height: float) -> Iterator[Html]:
    yield tag("text", told["y"]["label"], class_="label", x=4, y=16)
    middle = (left + WIDTH - RIGHT) / 2
    yield tag("text", told["x"]["label"], class_="label", x=middle, y=height - 6, text_anchor="middle")


def _shapes(each: Mapping[str, Any], x: Scale, y: Scale) -> Iterator[Html]:
    """A series: bars, or a line and its marks, and deviations."""
    name, style = _colour(each)
    look = {"class_": f"series {name}", "style": style}
    places = [(x.at(a), y.at(b)) for a, b in zip(each["x"], each["y"], strict=True)]
    if each["kind"] == "bars":
        yield tag("g", *_bars(each, x, y), **look)
        return
    if each["kind"] == "line":
        yield tag("path", class_=f"{look['class_']} line", style=style, d=_path(places), stroke_dasharray=_dash(each))
    found = [(a, b) for a, b in places if a is not None and b is not None]
    if each["deviation"]:
        yield tag("path", class_=f"{look['class_']} thin", style=style, d=_spans(each, x, y))
    if each["mark"] or len(found) == 1:
        kind = "hollow" if each["hollow"] else "full"
        yield tag(
            "path", class_=f"{look['class_']} {kind}", style=style, d="".join(_mark(each["mark"], *at) for at in found)
        )


def _path(places: list[tuple[float | None, float | None]]) -> str:
    steps, pen = [], "M"
    for a, b in places:
        if a is None or b is None:
            pen = "M"
            continue
        steps.append(f"{pen}{a:g} {b:g}")
        pen = "L"
    return "".join(steps)


def _spans(each: Mapping[str, Any], x: Scale, y: Scale) -> str:
    steps = []
    for a, b, half in zip(each["x"], each["y"], each["deviation"], strict=True):
        if None in (a, b, half):
            continue
        ends = [(a + side * half, b) if each["along"] == "x" else (a, b + side * half) for side in (-1, 1)]
        steps.append(_path([(x.at(one), y.at(other)) for one, other in ends]))
    return "".join(steps)


def _bars(each: Mapping[str, Any], x: Scale, y: Scale) -> Iterator[Html]:
    for a, b, thick in zip(each["x"], each["y"], each["thick"], strict=True):
        middle, across = (b, y) if each["flat"] else (a, x)
        if None in (a, b, thick) or (edges := [across.at(middle + side * thick / 2) for side in (-1, 1)]) == [
            None,
            None,
        ]:
            continue
        low, high = sorted(edge if edge is not None else across.begin for edge in edges)
        end, along = (x.at(a), x) if each["flat"] else (y.at(b), y)
        zero = along.at(0.0)
        base = along.begin if zero is None else zero
        begin, length = min(base, end or base), abs((base if end is None else end) - base)
        box = (begin, low, length, high - low) if each["flat"] else (low, begin, high - low, length)
        yield tag("rect", **dict(zip(("x", "y", "width", "height"), (f"{value:.1f}" for value in box), strict=True)))


def _mark(shape: str, a: float, b: float) -> str:
    if shape == "s":
        return f"M{a - 3.5:g} {b - 3.5:g}h7v7h-7z"
    if shape == "D":
        return f"M{a:g} {b - 5:g}l5 5l-5 5l-5 -5z"
    if shape in ("^", ">"):
        return f"M{a:g} {b - 5:g}l5 9h-10z" if shape == "^" else f"M{a + 5:g} {b:g}l-9 5v-10z"
    r = 1.6 if shape == "." else 3.6
    return f"M{a - r:g} {b:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"


def _level(each: Mapping[str, Any], x: Scale, y: Scale) -> Html:
    name, style = _colour(each)
    across = each["kind"] == "level"
    place = (y if across else x).at(each["at"])
    if place is None:
        return Html("")
    ends = [(x.begin, place), (x.end, place)] if across else [(place, y.begin), (place, y.end)]
    return tag("path", class_=f"series {name} bound", style=style, d=_path([*ends]))


def _points(each: Mapping[str, Any], x: Scale, y: Scale) -> Iterator[Point]:
    halves = each["deviation"] or [None] * len(each["x"])
    for a, b, half in zip(each["x"], each["y"], halves, strict=True):
        at = x.at(a), y.at(b)
        if at[0] is None or at[1] is None or not (x.shows(a) and y.shows(b)):
            continue
        spread = f" ± {words(half)}" if half else ""
        told = [x.said(a), y.said(b)]
        told[0 if each["along"] == "x" else 1] += spread
        yield at[0], at[1], told[0], told[1]


def _legend(series: list[Mapping[str, Any]]) -> Html:
    """A sample and a name of each that has one, once."""
    named: dict[str, Mapping[str, Any]] = {}
    for each in series:
        if each["label"] and not each["again"] and (each["label"] not in named or each.get("mark")):
            named[each["label"]] = each  # of a line and its marks the marks, which tell more apart
    items = [tag("li", _sample(each), label) for label, each in named.items()]
    return tag("ul", *items, class_="legend") if items else Html("")


def _sample(each: Mapping[str, Any]) -> Html:
    name, style = _colour(each)
    shapes = []
    if each["kind"] == "bars":
        shapes.append(tag("rect", class_=f"series {name}", style=style, x=4, y=1, width=18, height=10))
    else:
        line = each["kind"] != "points"
        kind = "bound" if each["kind"] in ("level", "upright") else "line"
        path = {"class_": f"series {name} {kind}", "style": style, "d": "M0 6L26 6"}
        shapes += [tag("path", **path, stroke_dasharray=_dash(each))] if line else []
        full = f"series {name} {'hollow' if each['hollow'] else 'full'}"
        shapes += (
            [tag("path", class_=full, style=style, d=_mark(each["mark"].replace(".", "o"), 13, 6))]
            if each["mark"]
            else []
        )
    return tag("svg", *shapes, viewBox="0 0 26 12", width=26, height=12, aria_hidden="true")


def _dash(each: Mapping[str, Any]) -> str | None:
    return DASHES.get(each["dash"])


def _colour(each: Mapping[str, Any]) -> tuple[str, str | None]:
    """The page's name of it, and the colour itself where it has none."""
    hexed = each["colour"].lower()
    if hexed in COLOURS:
        return f"c-{COLOURS[hexed]}", None
    return "c-own", f"--c:{hexed}" if re.fullmatch("#[0-9a-f]{6}", hexed) else None
