"""One person's portrait, counted by hand, and its figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from stap import prior
from stap.describe.person import PARTS, draw, portrait
from stap.events import DAY, Corpus, Usages

MONDAY = 20_150 * DAY  # 2025-03-03


def one(*usages: tuple[int, float, float]) -> Corpus:
    """(app, day, hour), half an hour each."""
    app, day, hour = map(np.array, zip(*usages, strict=True))
    start = MONDAY + DAY * day + 60.0 * hour
    return prior.corpus({"u": Usages(app.astype(np.int32), start, start + 30.0)})


def test_a_portrait_by_hand() -> None:
    """Long ago, then on a Sunday night and twice on the Monday after it."""
    shown = portrait(one((0, -30, 9.0), (1, 6, 23.75), (0, 7, 0.5), (2, 7, 9.25)))
    names = [entry["app"] for entry in shown["top apps"]]
    assert [(entry["usages"], entry["minutes"]) for entry in shown["top apps"]] == [(2, 60.0), (1, 30.0), (1, 30.0)]
    assert len(set(names)) == 3
    assert [hour for hour, count in enumerate(shown["usages by hour"]) for _ in range(count)] == [0, 9, 9, 23]
    assert list(shown["last week"]) == [f"2025-03-{day:02}" for day in range(4, 11)]
    used = {(day, part) for day, parts in shown["last week"].items() for part in range(PARTS) if parts[part]}
    assert used == {("2025-03-09", 47), ("2025-03-10", 1), ("2025-03-10", 18)}


def test_the_figure_is_drawn_whatever_the_names_are(tmp_path: Path) -> None:
    """A formula, an escape, letters that the font lacks, a name that legends would hide; and a log of instants."""
    corpus = one((0, 0, 9.0), (1, 0, 23.75), (2, 1, 0.5), (3, 9, 9.25))
    names = ("$a_b$^", "\x1b[0m\u202e", "微信 \U0001fae8", "_hidden")
    named = replace(corpus, apps=(names,))
    instants = replace(named, end=named.start)
    draw({"$x$.csv": named, "b.csv": instants}, tmp_path / "person.png")
    assert (tmp_path / "person.png").read_bytes().startswith(b"\x89PNG")
