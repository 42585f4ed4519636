"""`stap study launch`: the launcher's moment on people nobody trained on, beside launchers' rules, pooled over folds.

Folds, held-out users and zero-shot logs are those of `stap study people`; every predictor is asked at the same
launches, by the protocol `launch`. launch_figures.py computes what is reported, launch_curve.py draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stap.errors import BadInput
from stap.evaluate import LaunchRanks, launch
from stap.events import Floats
from stap.files import named
from stap.registry import USUAL
from stap.studies.launch_figures import WATCHED, Launched, figures
from stap.studies.people import Group, Note, Witnesses, everywhere, load


def score(group: Group, name: str) -> tuple[LaunchRanks, Floats]:
    """One predictor at every launch: its ranks, and of those WATCHED (n, 3) what it held likely, as in `Note`."""
    if name not in WATCHED:
        return launch(group.people, load(group, name), posted=group.posted), np.empty((0, 3))
    notes: list[Note] = []
    ranks = launch(group.people, Witnesses(load(group, name), notes), posted=group.posted)
    return ranks, np.array(notes).reshape(-1, 3)


def collect(groups: Sequence[Group], names: Sequence[str] = USUAL["launch"], processes: int = 1) -> Launched:
    """Every predictor on every group, pooled; `stap` always takes part."""
    found = everywhere(score, groups, [*(name for name in names if name != "stap"), "stap"], processes)
    return Launched.over(
        [group.people for group in groups],
        {name: [ranks for ranks, _ in scores] for name, scores in found.items()},
        {name: np.concatenate([held for _, held in found[name]]) for name in WATCHED if name in found},
    )


def run(groups: Sequence[Group], names: Sequence[str] = USUAL["launch"], processes: int = 1) -> dict[str, Any]:
    """The figures of these people, and which models made them."""
    launched = collect(groups, names, processes)
    if not len(launched.pause):
        raise BadInput("log", "nothing to score: nobody has two launches", "use a longer log")
    return {"models": [named(group.model) for group in groups]} | figures(launched)
