"""Returning to the app used last: by hand, and what the predictors make of it."""

from __future__ import annotations

import pytest

from predictors.streams import at, fed, usages
from stap.events import WHENEVER, Event, Moment
from stap.predictors import CLASSICAL, make
from stap.predictors.again import Returns, length_of
from stap.predictors.coded import Coded


def test_lengths_of_pauses() -> None:
    """A minute is still at once; each longer kind begins at its bound."""
    assert [length_of(minutes) for minutes in (0.0, 1.0, 1.01, 5.0, 29.0, 30.0, 240.0, 1e6)] == [0, 0, 1, 2, 2, 3, 4, 4]


def test_everybody_begins_with_the_usual() -> None:
    returns = Returns()
    assert returns.probability(0, 3.0, 12.0) == pytest.approx(0.5)
    assert returns.probability(0, 0.5, 12.0) == pytest.approx(0.02)
    assert returns.whenever(0) == pytest.approx(0.2)


def test_one_return_worked_out_by_hand() -> None:
    """After one return from a pause of 3 minutes: (4 * 0.5 * 0.99 + 1) / (4 * 0.99 + 1) of such pauses, and so on."""
    returns = Returns()
    returns.learn(0, 3.0, 12.0, True)
    habit = (2 * 0.99 + 1) / (4 * 0.99 + 1)
    own = (1 + 3 * habit) / 4
    finest = (1 + 3 * own) / 4
    pooled = (habit * 4.96 + 4 * (0.42 + 0.37 + 0.25)) / (4.96 + 12)
    hourly = (1 + 10 * pooled) / 11

    def odds(chance: float) -> float:
        return chance / (1 - chance)

    # The weights have not moved: all inputs were 0 but the first, whose log odds were 0 too.
    made = odds(habit) * (odds(own) / odds(habit)) ** 0.7 * (odds(finest) / odds(own)) ** 0.3
    made *= (odds(hourly) / odds(pooled)) ** 0.3
    assert returns.probability(0, 3.0, 12.0) == pytest.approx(made / (1 + made))
    assert returns.whenever(0) == pytest.approx((1 + 3 * (1.6 * 0.99 + 1) / (8 * 0.99 + 1)) / 4)


def test_a_habit_is_learned_app_by_app() -> None:
    returns = Returns()
    for _ in range(40):
        returns.learn(0, 10.0, 9.0, True)
        returns.learn(1, 10.0, 9.0, False)
    assert returns.probability(0, 10.0, 9.0) > 0.9
    assert returns.probability(1, 10.0, 9.0) < 0.1
    assert 0.3 < returns.probability(2, 10.0, 9.0) < 0.7


def test_again_after_a_pause_and_back_at_once() -> None:
    predictor = fed(make("again"), usages(["mail", "chat"]))  # chat was closed in minute 3
    assert [app for app, _ in predictor.rank(2, Moment(3.5, 0.0))] == ["mail"]
    assert [app for app, _ in predictor.rank(2, Moment(9.0, 0.0))] == ["chat", "mail"]
    assert [app for app, _ in predictor.rank(2, WHENEVER)] == ["chat", "mail"]


@pytest.mark.parametrize("name", ["markov", "ppm", "blend"])
def test_asked_at_a_moment_probabilities_sum_to_one(name: str) -> None:
    predictor = fed(make(name), usages(["mail", "chat", "maps", "chat", "mail"] * 5))
    for moment in (Moment(49.2, 0.8), Moment(60.0, 1.0), Moment(900.0, 15.0), WHENEVER):
        ranking = predictor.rank(9, moment)
        assert sorted(app for app, _ in ranking) == ["chat", "mail", "maps"]
        assert sum(share for _, share in ranking) == pytest.approx(1.0)


@pytest.mark.parametrize("name", CLASSICAL)
def test_asking_changes_nothing(name: str) -> None:
    history = usages(["mail", "chat", "maps", "chat", "mail", "maps"] * 4)
    asked, left_alone = make(name), make(name)
    for event in history:
        for predictor in (asked, left_alone):
            predictor.observe(event)
        for moment in (None, WHENEVER, Moment(event.minutes + 30.0, 7.0)):
            asked.rank(3, moment)
    assert asked.rank(9) == left_alone.rank(9)
    assert asked.rank(9, Moment(900.0, 15.0)) == left_alone.rank(9, Moment(900.0, 15.0))


@pytest.mark.parametrize("name", ["markov", "ppm", "blend"])
def test_an_app_opened_again_is_one_usage_of_the_sequence(name: str) -> None:
    """Which other app comes next does not depend on how often the current one was taken up again in between."""
    once = fed(make(name), [*usages(["mail", "chat", "maps", "chat"] * 3), at("mail", 1, 30.0), at("mail", 0, 45.0)])
    again: list[Event] = [at("mail", 1, 30.0), at("mail", 0, 31.0), at("mail", 1, 40.0), at("mail", 0, 45.0)]
    twice = fed(make(name), [*usages(["mail", "chat", "maps", "chat"] * 3), *again])
    assert once.rank(9) == twice.rank(9)
    later = Moment(60.0, 1.0)
    assert isinstance(once, Coded)
    assert isinstance(twice, Coded)
    assert twice.again(later) > once.again(later)
