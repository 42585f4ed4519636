"""People seen by other loggers: the answers stay, the times say less."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from stap import prior
from stap.events import Event, Moment

loggers = import_module("stap.studies.loggers")
PEOPLE = prior.people(2, seed=3, usages=(60, 90))


@pytest.mark.parametrize("name", loggers.LOGGERS)
def test_a_logger_changes_no_answer(name: str) -> None:
    seen = loggers.seen_by(PEOPLE, loggers.LOGGERS[name])
    np.testing.assert_array_equal(seen.label, PEOPLE.label)
    for user in range(2):
        rows = seen.rows(user)
        assert (np.diff(seen.start[rows]) >= 0).all()
        assert (seen.end[rows] >= seen.start[rows]).all()


def test_what_each_of_them_says() -> None:
    by = {name: loggers.seen_by(PEOPLE, logger) for name, logger in loggers.LOGGERS.items()}
    np.testing.assert_allclose(by["as logged"].end, PEOPLE.end, atol=1e-4)
    assert (by["instants"].start == by["instants"].end).all()
    first = PEOPLE.rows(0)
    after = by["ends at the next start"]
    np.testing.assert_allclose(after.end[first][:-1], after.start[first][1:])
    lost = (by["30 % of closes lost"].end == by["30 % of closes lost"].start) & (PEOPLE.end > PEOPLE.start)
    assert 0.15 < lost[PEOPLE.end > PEOPLE.start].mean() < 0.45
    np.testing.assert_array_equal(by["whole minutes"].start % 1, 0)


def test_who_is_deaf_hears_opens_only() -> None:
    heard: list[int] = []

    class Ear:
        def observe(self, event: Event) -> None:
            heard.append(event.action)

        def rank(self, k: int, at: Moment | None = None) -> list[tuple[str, float]]:
            return [("a", 1.0)][:k]

    deaf = loggers.Deaf(Ear())
    for pair in PEOPLE.events(0, slice(0, 5)):
        for event in pair:
            deaf.observe(event)
    assert heard == [1] * 5
    assert deaf.rank(3) == [("a", 1.0)]
