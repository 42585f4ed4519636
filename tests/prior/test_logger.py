"""What each flaw of a logger does to a log that was perfect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stap.events import DAY, Usages, tidy
from stap.prior.logger import Logger, record
from stap.prior.person import draw_part

PERFECT = Logger()


@pytest.fixture
def log() -> Usages:
    """Twenty days, a usage every ten minutes, from 2 to 92 seconds long."""
    rng = np.random.default_rng(0)
    start = 20_000 * DAY + np.arange(0, 20 * DAY, 10.0)
    return tidy(
        Usages(rng.integers(0, 9, len(start)).astype(np.int32), start, start + rng.uniform(2, 92, len(start)) / 60)
    )


def logged(log: Usages, **flaws: object) -> Usages:
    return tidy(record(log, replace(PERFECT, **flaws), np.random.default_rng(1)))  # type: ignore[arg-type]


def test_a_perfect_logger_changes_nothing(log: Usages) -> None:
    same = logged(log)
    assert same.app.tolist() == log.app.tolist()
    np.testing.assert_allclose(same.start, log.start, atol=1e-4)
    np.testing.assert_allclose(same.end, log.end, atol=1e-4)


def test_instants_have_no_length(log: Usages) -> None:
    assert (logged(log, closes="instants").end == logged(log).start).all()


def test_an_app_ends_where_the_next_begins(log: Usages) -> None:
    seen = logged(log, closes="next start")
    assert (seen.end[:-1] == seen.start[1:]).all()


def test_a_coarse_clock_knows_whole_ticks(log: Usages) -> None:
    seen = logged(log, tick=60.0)
    for times in (seen.start, seen.end):
        np.testing.assert_allclose(times, np.round(times), atol=1e-6)
    assert (seen.end == seen.start).any()


def test_a_generous_one_gives_every_usage_a_tick(log: Usages) -> None:
    seen = logged(log, tick=60.0, generous=True)
    assert ((seen.end - seen.start) >= 1 - 1e-6).all()


def test_lost_closes(log: Usages) -> None:
    seen = logged(log, lost=0.5)
    assert 0.4 < (seen.end == seen.start).mean() < 0.6


def test_glances_are_missed(log: Usages) -> None:
    seen = logged(log, tick=30.0, missed=1.0)
    assert len(seen.app) < 0.8 * len(log.app)


def test_days_off(log: Usages) -> None:
    seen = logged(log, off=0.5)
    assert 0 < len(np.unique(seen.start // DAY)) < 18


def test_processes_nobody_opened(log: Usages) -> None:
    seen = logged(log, background=0.5, processes=3)
    assert len(seen.app) > 1.2 * len(log.app)


def test_the_launcher_comes_between(log: Usages) -> None:
    seen = logged(log, launcher=1.0)
    assert np.bincount(seen.app).max() == pytest.approx(len(seen.app) / 2, abs=2)


def test_loggers_are_of_every_kind() -> None:
    drawn = {draw_part(Logger, np.random.default_rng(seed)) for seed in range(50)}
    assert len(drawn) > 40
    assert any(logger.background for logger in drawn)
    assert any(logger.launcher for logger in drawn)
    assert {logger.closes for logger in drawn} == {"kept", "instants", "next start"}
