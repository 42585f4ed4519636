"""Who a synthetic person is: what the hyperpriors may draw, and nothing of how it plays out.

Every setting stands beside what it is drawn from. The ranges are wider than the real people at hand, on purpose:
docs/results/prior.md holds them against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from stap.events import Floats, Longs

Random = np.random.Generator
Draw = Callable[[Random], Any]
Part = TypeVar("Part")

# How a next app may come about. `given` is what needs no past: taste, a notification, or an app never used before.
HOWS = ("lag", "again", "again after two", "follow", "follow two", "clock", "given")
LAG, AGAIN, AGAIN_2, FOLLOW, FOLLOW_2, CLOCK, GIVEN = range(len(HOWS))


def uniform(low: float, high: float) -> Draw:
    return lambda rng: rng.uniform(low, high)


def log_uniform(low: float, high: float) -> Draw:
    return lambda rng: float(low * (high / low) ** rng.random())


def beta(a: float, b: float) -> Draw:
    return lambda rng: rng.beta(a, b)


def whole(low: int, high: int) -> Draw:
    """From low to high, both included."""
    return lambda rng: int(rng.integers(low, high + 1))


def by(draw: Draw, default: Any = MISSING) -> Any:
    """A setting that is drawn like this, unless something else is said of somebody."""
    return field(default=default, metadata={"draw": draw})


def draw_part(part: type[Part], rng: Random, **said: Any) -> Part:
    """All settings of a dataclass in their order; what was said, a value or a draw, takes the place of the usual."""
    drawn = {}
    for setting in fields(part):  # type: ignore[arg-type]
        value = said[setting.name] if setting.name in said else setting.metadata["draw"]
        drawn[setting.name] = value(rng) if callable(value) else value
    return part(**drawn)


@dataclass(frozen=True)
class Day:
    """When a person is at the device."""

    wake: float  # hour
    awake: float  # hours
    peaks: tuple[tuple[float, float, float], ...]  # (hour, strength, width in hours) on top of the plateau
    usages: float  # a day
    weekend_shift: float = by(lambda rng: rng.normal(0.7, 1.0))  # hours later
    night: float = by(log_uniform(0.001, 0.4))  # activity at night, against 1 in the day
    unevenness: float = by(uniform(0.1, 1.2))  # sd of the log of a day's activity
    clustered: float = by(uniform(0, 0.8))  # share of sessions that follow close upon another ...
    cluster_gap: float = by(log_uniform(8, 40))  # ... after so many minutes on average


@dataclass(frozen=True)
class Tastes:
    """Which apps, and how the choice changes with the setting and with time."""

    apps: int  # installed at some time, the never-tried tail aside
    zipf: float = by(uniform(0.3, 1.8))  # popularity of the r-th app falls like r ** -zipf
    settings: int = by(whole(1, 8))  # kinds of situations: hours of the day, workdays and weekends apart
    setting_strength: float = by(log_uniform(0.4, 2.5))  # sd of an app's log popularity between settings
    setting_blur: float = by(uniform(0, 0.3))  # share of sessions whose setting is not what the clock says
    session_start: float = by(log_uniform(0.1, 1.5))  # sd of the log popularity of opening a session, against within
    drift: float = by(log_uniform(0.05, 3.0))  # sd of an app's log popularity after a month
    bursts: float = by(log_uniform(0.005, 0.4))  # per app and month
    burst_strength: float = by(uniform(0.5, 4.0))  # in log popularity
    installs: float = by(uniform(0, 0.6))  # share of the apps that arrive during the log
    novelty: float = by(uniform(0, 3.0))  # log boost of an app in its first days
    explore: float = by(log_uniform(0.005, 0.2))  # rate of first-ever apps at the start ...
    explore_decay: float = by(uniform(0.0, 0.8))  # ... which falls like usages ** -explore_decay
    notified: float = by(uniform(0, 0.4))  # share of given apps that a notification chose
    notifiers: int = by(whole(1, 5))  # how many apps notify


@dataclass(frozen=True)
class Habits:
    """How the next app depends on the latest ones."""

    within: tuple[float, ...]  # weight of each of HOWS inside a session
    first: tuple[float, ...]  # and for the first app of a session
    back: float  # mean over apps of going straight back to the app before, after a stay
    back_after_glance: float  # and after a glance
    back_at_start: float = by(uniform(0, 1))  # how much of both is left for the first app of a session
    back_spread: float = by(log_uniform(0.5, 15.0))  # how much apps differ in that: the concentration of a Beta
    lag_decay: float = by(uniform(0.2, 1.8))  # how fast the memory of earlier usages fades: lag ** -lag_decay
    session_memory: float = by(uniform(0, 1))  # how rarely the memory reaches back beyond the session
    swings: float = by(log_uniform(0.0005, 0.04))  # chance a usage begins an alternation of two or three apps
    swing_length: float = by(log_uniform(2, 12))  # usages
    swing_three: float = by(uniform(0, 0.7))  # share of steps in it that take the third app
    focus: float = by(log_uniform(0.12, 0.9))  # share of the favourite follower among an app's followers
    hub: float = by(beta(0.6, 4.0))  # share of followers that are the favourite app, from wherever
    stay_matters: float = by(uniform(0, 1))  # share of apps whose followers after a glance are others than after a stay
    regimes: int = by(whole(1, 4))  # how often the followers are drawn anew, plus one
    resume: float = by(uniform(0, 1))  # share of sessions that may begin with the app that ended the last


@dataclass(frozen=True)
class Stays:
    """How long apps are used, and the pauses between."""

    session_usages: float = by(log_uniform(1.0, 9))  # mean number in a session
    session_spread: float = by(uniform(0.1, 1.2))  # sd of a person's log session length, on top of the geometric
    seconds: float = by(log_uniform(8, 250))  # median of a stay
    app_spread: float = by(uniform(0.2, 1.3))  # sd of the log median between apps
    spread: float = by(uniform(0.8, 3.2))  # sd of the log within an app
    glances: float = by(beta(1.0, 2.5))  # mean share of glances
    glance_seconds: float = by(log_uniform(1, 10))
    pause_seconds: float = by(log_uniform(0.5, 25))  # median pause within a session
    pauses: float = by(beta(0.5, 0.5))  # share of usages followed by any pause


@dataclass(frozen=True)
class Person:
    day: Day
    tastes: Tastes
    habits: Habits
    stays: Stays


def draw_person(rng: Random) -> Person:
    """Some people are at a desktop: fewer apps, longer sessions, less of the night."""
    desktop = bool(rng.random() < 0.15)
    day = _day(rng, desktop)
    apps = int(log_uniform(*((4, 40) if desktop else (18, 185)))(rng))
    tastes = draw_part(Tastes, rng, apps=apps, **({"zipf": uniform(1.0, 3.2)} if desktop else {}))
    habits = _habits(rng, desktop)
    return Person(
        day, tastes, habits, draw_part(Stays, rng, **({"session_usages": log_uniform(3, 60)} if desktop else {}))
    )


def _day(rng: Random, desktop: bool) -> Day:
    wake = rng.normal(9.0 if desktop else 7.0, 1.3)
    awake = rng.uniform(5, 18) if desktop else rng.uniform(13.5, 19)
    strength, width = log_uniform(0.2, 2.5), uniform(0.5, 3.0)
    peaks = tuple((wake + rng.uniform(0, awake), strength(rng), width(rng)) for _ in range(rng.integers(0, 3)))
    usages = float(np.clip(np.exp(rng.normal(5 if desktop else 3.9, 1.2)), 2, 900))
    return draw_part(Day, rng, wake=wake, awake=awake, peaks=peaks, usages=usages)


def _habits(rng: Random, desktop: bool) -> Habits:
    within = np.array([0.15, 0.06, 0.06, 0.28, 0.07, 0.09, 0.29]) * np.exp(rng.normal(0, 1.1, len(HOWS)))
    first = np.array([0.12, 0.05, 0.03, 0.14, 0.04, 0.14, 0.48]) * np.exp(rng.normal(0, 1.1, len(HOWS)))
    restless = desktop or rng.random() < 0.06  # forever back and forth
    wanderer = not restless and rng.random() < 0.1  # hardly ever back
    said: dict[str, Any] = {"hub": beta(2.0, 2.0)} if restless else {}
    if wanderer:
        within[:FOLLOW] *= 0.1
        said = {"swings": 0.0, "hub": 0.0}
    back = rng.beta(2.5, 2.0) if restless else rng.beta(0.3, 12.0) if wanderer else rng.beta(0.6, 7.0)
    glance = rng.beta(1.0, 1.5) if rng.random() < 0.2 else min(0.97, back * np.exp(rng.normal(0, 0.7)))
    shares = {"within": tuple(within / within.sum()), "first": tuple(first / first.sum())}
    return draw_part(Habits, rng, **shares, back=back, back_after_glance=float(glance), **said)


def pick(shares: Floats | tuple[float, ...], chance: Floats) -> Longs:
    """One of the places by their shares, which sum to 1, for every chance from 0 to 1."""
    return np.searchsorted(np.cumsum(shares)[:-1], chance)


def power_law(size: int, exponent: float) -> Floats:
    """(size,) r ** -exponent, as shares."""
    weight: Floats = np.arange(1.0, size + 1) ** -exponent
    weight /= weight.sum()
    return weight
