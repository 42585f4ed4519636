"""One person's log as a picture: the apps used most, the hours of the day, and the last week."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stap.describe.canvas import GREY, drawing, plain
from stap.events import DAY, Corpus, clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP, COLOURED = 10, 6  # apps that are listed, and those of them that have a colour of their own
WEEK, PARTS = 7, 48  # days, and the parts of a day in the terminal
BRIEFEST = 2.0  # minutes: what is shorter would not be seen
EXPLAINED = (
    "The apps used most, by how often they were opened; when in the day usages begin; and the last week, a row a day. "
)
IN_TERMINAL = EXPLAINED + "There a mark is half an hour: the darker, the more usages began in it."
IN_FIGURE = EXPLAINED + "There a bar is a usage, in its app's colour above; all other apps are grey."


def portrait(corpus: Corpus) -> dict[str, Any]:
    """What `stap describe` shows of a corpus of one person, as numbers."""
    names, (app, start, end, _) = corpus.apps[0], corpus.usages(0)
    opened, minutes = np.bincount(app), np.bincount(app, weights=end - start)
    first = _last_days(corpus)[0]
    recent = start[start >= first] - first
    week = np.bincount((recent * (PARTS / DAY)).astype(np.int64), minlength=WEEK * PARTS).reshape(WEEK, PARTS)
    return {
        "top apps": [
            {"app": names[code], "usages": int(opened[code]), "minutes": float(minutes[code])}
            for code in np.argsort(-opened, kind="stable")[:TOP].tolist()
        ],
        "usages by hour": np.bincount((start % DAY // 60).astype(np.int64), minlength=24).tolist(),
        "last week": {str(clock(first + n * DAY).date()): parts for n, parts in enumerate(week.tolist())},
    }


def _last_days(corpus: Corpus) -> list[float]:
    """Midnights, in minutes: those of the last day on which a usage began and of the six before."""
    last = float(corpus.start[-1] // DAY)
    return [(last - back) * DAY for back in reversed(range(WEEK))]


def day(when: date) -> str:
    return f"{when:%a} {when.day} {when:%b}"


def draw(corpora: dict[str, Corpus], path: Path) -> None:
    """A block a log, each of one person."""
    with drawing(path, (12, 8 * len(corpora)), IN_FIGURE) as figure:
        blocks = np.ravel(np.asarray(figure.subfigures(len(corpora), 1)))
        for block, (name, corpus) in zip(blocks, corpora.items(), strict=True):
            block.suptitle(plain(Path(name).name), x=0.01, ha="left", fontweight="bold")
            grid = block.add_gridspec(2, 2)
            shown = portrait(corpus)
            colours = {entry["app"]: f"C{place}" for place, entry in enumerate(shown["top apps"][:COLOURED])}
            _apps(block.add_subplot(grid[0, 0]), shown["top apps"], colours)
            _hours(block.add_subplot(grid[0, 1]), shown["usages by hour"])
            _week(block.add_subplot(grid[1, :]), corpus, colours)


def _apps(axis: Axes, top: list[dict[str, Any]], colours: dict[str, str]) -> None:
    colour = [colours.get(entry["app"], GREY) for entry in top]
    axis.barh(range(len(top)), [entry["usages"] for entry in top], color=colour)
    axis.set_yticks(range(len(top)), [plain(entry["app"]) for entry in top])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(title="Top apps", xlabel="usages")


def _hours(axis: Axes, usages: list[int]) -> None:
    axis.bar(np.arange(24) + 0.5, usages, width=0.85, color="#35608f")
    axis.set(title="Hours of the day", xlabel="hour", ylabel="usages that begin", xlim=(0, 24))
    axis.set_xticks(range(0, 25, 3))


def _week(axis: Axes, corpus: Corpus, colours: dict[str, str]) -> None:
    names, (app, start, end, _) = corpus.apps[0], corpus.usages(0)
    end = np.maximum(end, start + BRIEFEST)
    colour = np.array([colours.get(name, GREY) for name in names])
    days = _last_days(corpus)
    for row, midnight in enumerate(days):
        today = (start < midnight + DAY) & (end > midnight)
        low, high = np.maximum(start[today], midnight), np.minimum(end[today], midnight + DAY)
        spans = list(zip((low - midnight) / 60, (high - low) / 60, strict=True))
        axis.broken_barh(spans, (row - 0.4, 0.8), facecolors=colour[app[today]].tolist())
    axis.set_yticks(range(len(days)), [day(clock(midnight)) for midnight in days])
    axis.invert_yaxis()
    axis.set(title="The last week", xlabel="hour", xlim=(0, 24))
    axis.set_xticks(range(0, 25, 3))
