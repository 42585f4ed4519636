"""A long life: a million events neither slow a predictor down nor fill the memory."""

from __future__ import annotations

import sys
from time import process_time
from types import FrameType
from typing import Any

import numpy as np
import pytest

from predictors.streams import at
from stap.predictors import CLASSICAL, Predictor, cues
from stap.predictors.blend import Blend
from stap.predictors.cues import Cues
from stap.predictors.ppm import Ppm

MILLION = 1_000_000


def random_apps(usages: int, apps: int) -> list[int]:
    """Neighbours differ, and no pattern ever repeats for long: the worst case for cues."""
    steps = np.random.default_rng(11).integers(1, apps, usages)
    return [int(code) for code in np.cumsum(steps) % apps]


def calls_of(predictor: Predictor, codes: list[int], start: float) -> int:
    """How many calls a stretch of the stream takes, Python's and C's."""
    calls = 0

    def count(frame: FrameType, what: str, argument: Any) -> None:
        nonlocal calls
        calls += what in ("call", "c_call")

    sys.setprofile(count)
    try:
        feed(predictor, codes, start)
    finally:
        sys.setprofile(None)
    return calls


def feed(predictor: Predictor, codes: list[int], start: float) -> None:
    for i, code in enumerate(codes):
        now = start + 2.0 * i
        predictor.observe(at(f"app{code}", 1, now))
        predictor.rank(5)
        predictor.observe(at(f"app{code}", 0, now + 1.0))
        predictor.rank(5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mfu", "mru", "previous"])
def test_a_million_events_cost_what_the_first_did(name: str) -> None:
    predictor, codes = CLASSICAL[name](), random_apps(MILLION // 2, 50)
    feed(predictor, codes[:1000], 0.0)
    early = calls_of(predictor, codes[1000:2000], 2_000.0)
    feed(predictor, codes[2000:-1000], 4_000.0)
    late = calls_of(predictor, codes[-1000:], float(MILLION))
    assert late == pytest.approx(early, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mfu", "mru", "previous"])
def test_a_new_app_costs_the_same_however_many_there_are(name: str) -> None:
    """300,000 of them in seconds; to move all others up each time would take minutes."""
    predictor, begin = CLASSICAL[name](), process_time()
    feed(predictor, list(range(300_000)), 0.0)
    assert process_time() - begin < 20


@pytest.mark.slow
def test_cues_stay_bounded_over_a_million_updates() -> None:
    table, codes = Cues(), random_apps(MILLION // 3, 60)
    most = 0
    for i in range(3, len(codes)):
        for order in (1, 2, 3):
            table.add(tuple(codes[i - order : i]), codes[i])
        most = max(most, len(table))
    assert cues.GENERATION < most <= 2 * cues.GENERATION


@pytest.mark.slow
@pytest.mark.parametrize("made", [Ppm, Blend])
def test_learning_predictors_cost_the_same_once_memory_is_full(
    made: type[Ppm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small generations, so that a short run goes through many of them."""
    monkeypatch.setattr(cues, "GENERATION", 500)
    predictor, codes = made(), random_apps(8_000, 40)
    feed(predictor, codes[:1000], 0.0)
    early = calls_of(predictor, codes[1000:1500], 2_000.0)
    feed(predictor, codes[1500:-500], 3_000.0)
    late = calls_of(predictor, codes[-500:], 20_000.0)
    assert late == pytest.approx(early, rel=0.05)
    assert len(predictor._cues) <= 1000
    assert len(predictor.names) == len(predictor._latest) == 40
