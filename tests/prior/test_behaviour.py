"""Each parameter does what its line says, measured on logs that differ in nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stap.describe.statistics import hour_information, repeat_distance
from stap.events import DAY, Usages, tidy
from stap.prior.behaviour import behave
from stap.prior.person import GIVEN, HOWS, Day, Habits, Person, Stays, Tastes

USAGES = 3000
ONLY_GIVEN = tuple(float(how == GIVEN) for how in range(len(HOWS)))


@pytest.fixture
def plain() -> Person:
    """Somebody without any habit: every app is drawn by a constant taste."""
    zeros = {"setting_strength", "setting_blur", "session_start", "drift", "bursts", "burst_strength", "installs"}
    zeros |= {"novelty", "explore", "explore_decay", "notified"}
    tastes: Any = {"apps": 30, "zipf": 0.8, "settings": 1, "notifiers": 1, **dict.fromkeys(zeros, 0.0)}
    never = {"back", "back_after_glance", "swings", "hub", "stay_matters", "session_memory", "swing_three", "resume"}
    habits: Any = {"within": ONLY_GIVEN, "first": ONLY_GIVEN, "regimes": 1, **dict.fromkeys(never, 0.0)}
    return Person(
        Day(
            usages=60, wake=7, awake=16, weekend_shift=0, night=0, peaks=(), unevenness=0.1, clustered=0, cluster_gap=9
        ),
        Tastes(**tastes),
        Habits(back_at_start=1.0, back_spread=50.0, lag_decay=1.0, swing_length=5.0, focus=0.5, **habits),
        Stays(
            4.0, 0.2, seconds=20, app_spread=0.3, spread=0.8, glances=0.3, glance_seconds=3, pause_seconds=4, pauses=1
        ),
    )


def live(person: Person, seed: int = 0) -> Usages:
    return tidy(behave(person, USAGES, np.random.default_rng(seed)))


def changed(person: Person, part: str, **values: Any) -> Usages:
    return live(replace(person, **{part: replace(getattr(person, part), **values)}))


def returns(log: Usages) -> float:
    """How often the next app is the one before: HR@1 of `previous`."""
    return float((repeat_distance(log.app)[1:] == 1).mean())


def only(*hows: str) -> tuple[float, ...]:
    return tuple(float(how in hows) / len(hows) for how in HOWS)


def test_return_probability(plain: Person) -> None:
    often = changed(plain, "habits", back=0.9, back_after_glance=0.9)
    assert returns(live(plain)) < 0.15
    assert returns(often) > 0.8


def test_glances_return_when_only_they_do(plain: Person) -> None:
    person = replace(plain, stays=replace(plain.stays, glances=0.5, glance_seconds=2.0, seconds=120.0, spread=0.2))
    log = changed(person, "habits", back_after_glance=0.9)
    back = repeat_distance(log.app)[1:] == 1
    glance = (log.end - log.start)[:-1] < 10 / 60
    assert back[glance].mean() > 0.7
    assert back[~glance].mean() < 0.2


def test_swings_alternate_between_two_apps(plain: Person) -> None:
    log = changed(plain, "habits", swings=0.1, swing_length=20.0, swing_three=0.0)
    assert returns(log) > 0.6


def test_a_third_app_joins_the_swing(plain: Person) -> None:
    two, three = (changed(plain, "habits", swings=0.1, swing_length=20.0, swing_three=share) for share in (0.0, 0.6))
    assert returns(three) < returns(two) - 0.2
    assert (repeat_distance(three.app) == 2).mean() > (repeat_distance(two.app) == 2).mean() + 0.2


def test_memory_that_fades_fast_stays_near(plain: Person) -> None:
    habits = {"within": only("lag", "given"), "session_memory": 0.0}
    near, far = (changed(plain, "habits", lag_decay=decay, **habits) for decay in (2.0, 0.2))
    assert (repeat_distance(near.app) <= 3).mean() > (repeat_distance(far.app) <= 3).mean() + 0.15


def test_focused_followers_are_a_bigram(plain: Person) -> None:
    def sure(log: Usages) -> float:
        """Share of transitions that are the commonest from their app."""
        table = np.zeros((log.app.max() + 1,) * 2)
        np.add.at(table, (log.app[:-1], log.app[1:]), 1)
        return float(table.max(axis=1).sum() / table.sum())

    focused, loose = (changed(plain, "habits", within=only("follow"), focus=focus) for focus in (0.9, 0.15))
    assert sure(focused) > sure(loose) + 0.2
    assert sure(loose) > sure(live(plain))


def test_a_hub_is_every_second_app(plain: Person) -> None:
    log = changed(plain, "habits", within=only("follow"), first=only("follow"), hub=1.0)
    assert np.bincount(log.app).max() / len(log.app) > 0.45


def test_the_hour_tells_about_the_app_only_where_it_should(plain: Person) -> None:
    """With settings of the day, or with copies of earlier days at the same hour."""
    settings = changed(plain, "tastes", settings=5, setting_strength=1.5)
    copies = changed(plain, "habits", within=only("clock"), first=only("clock"))
    even, by_setting, by_copy = (hour_information(log.app, log.start) for log in (live(plain), settings, copies))
    assert abs(even) < 0.05
    assert by_setting > even + 0.15
    assert by_copy > even + 0.05


@pytest.mark.parametrize(
    ("name", "value"), [("drift", 3.0), ("installs", 1.0)], ids=["tastes that drift", "apps that arrive"]
)
def test_the_second_half_differs_with(name: str, value: float, plain: Person) -> None:
    def apart(log: Usages) -> float:
        half = len(log.app) // 2
        shares = [
            np.bincount(part, minlength=log.app.max() + 1) / len(part) for part in (log.app[:half], log.app[half:])
        ]
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    assert apart(changed(plain, "tastes", **{name: value})) > apart(live(plain)) + 0.1


def test_bursts_fill_some_days(plain: Person) -> None:
    def peak(log: Usages) -> float:
        """How far the busiest day of an app is above its mean, over the apps."""
        day = (log.start // DAY).astype(int)
        table = np.zeros((np.ptp(day) + 1, log.app.max() + 1))
        np.add.at(table, (day - day.min(), log.app), 1)
        return float(np.median(table.max(axis=0) / table.mean(axis=0)))

    assert peak(changed(plain, "tastes", bursts=1.0, burst_strength=4.0)) > 1.3 * peak(live(plain))


def test_explorers_find_new_apps_ever_more_slowly(plain: Person) -> None:
    log = changed(plain, "tastes", explore=0.3, explore_decay=0.6)
    new = np.concatenate([[True], log.app[1:] > np.maximum.accumulate(log.app)[:-1]])
    thirds = [part.sum() for part in np.array_split(new, 3)]
    assert log.app.max() > 60
    assert thirds[0] > 2 * thirds[1] > 2 * 0.8 * thirds[2] > 0


def test_nights_are_empty(plain: Person) -> None:
    hour = live(plain).start % DAY / 60
    assert ((hour > 7) & (hour < 23.9)).mean() > 0.98
    assert np.histogram(hour, bins=[7, 11, 15, 19, 23])[0].min() > 0.15 * len(hour)


def test_usages_a_day_and_in_a_session(plain: Person) -> None:
    log = changed(plain, "habits", resume=0.0)
    assert 45 < len(log.app) / (np.ptp(log.start) / DAY) < 75
    sessions = 1 + int((log.start[1:] - log.end[:-1] > 5).sum())
    assert 3 < len(log.app) / sessions < 8
