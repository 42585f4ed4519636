"""Who a synthetic person is: what the hyperpriors may draw, and nothing of how it plays out.

The ranges are wider than the real people at hand, on purpose: docs/results/prior.md holds them against each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stap.events import Floats, Longs

Random = np.random.Generator

# How a next app may come about. `given` is what needs no past: taste, a notification, or an app never used before.
HOWS = ("lag", "again", "again after two", "follow", "follow two", "clock", "given")
LAG, AGAIN, AGAIN_2, FOLLOW, FOLLOW_2, CLOCK, GIVEN = range(len(HOWS))


@dataclass(frozen=True)
class Day:
    """When a person is at the device."""

    usages: float  # a day
    wake: float  # hour
    awake: float  # hours
    weekend_shift: float  # hours later
    night: float  # activity at night, against 1 in the day
    peaks: tuple[tuple[float, float, float], ...]  # (hour, strength, width in hours) on top of the plateau
    unevenness: float  # sd of the log of a day's activity
    clustered: float  # share of sessions that follow close upon another ...
    cluster_gap: float  # ... after so many minutes on average


@dataclass(frozen=True)
class Tastes:
    """Which apps, and how the choice changes with the setting and with time."""

    apps: int  # installed at some time, the never-tried tail aside
    zipf: float  # popularity of the r-th app falls like r ** -zipf
    settings: int  # kinds of situations: hours of the day, workdays and weekends apart
    setting_strength: float  # sd of an app's log popularity between settings
    setting_blur: float  # share of sessions whose setting is not what the clock says
    session_start: float  # sd of the log popularity of opening a session, against within one
    drift: float  # sd of an app's log popularity after a month
    bursts: float  # per app and month
    burst_strength: float  # in log popularity
    installs: float  # share of the apps that arrive during the log
    novelty: float  # log boost of an app in its first days
    explore: float  # rate of first-ever apps at the start ...
    explore_decay: float  # ... which falls like usages ** -explore_decay
    notified: float  # share of given apps that a notification chose
    notifiers: int  # how many apps notify


@dataclass(frozen=True)
class Habits:
    """How the next app depends on the latest ones."""

    within: tuple[float, ...]  # weight of each of HOWS inside a session
    first: tuple[float, ...]  # and for the first app of a session
    back: float  # mean over apps of going straight back to the app before, after a stay
    back_after_glance: float  # and after a glance
    back_at_start: float  # how much of both is left for the first app of a session
    back_spread: float  # how much apps differ in that: the concentration of a Beta
    lag_decay: float  # how fast the memory of earlier usages fades: lag ** -lag_decay
    session_memory: float  # how rarely the memory reaches back beyond the session
    swings: float  # chance a usage begins an alternation of two or three apps
    swing_length: float  # usages
    swing_three: float  # share of steps in it that take the third app
    focus: float  # share of the favourite follower among an app's followers
    hub: float  # share of followers that are the favourite app, from wherever
    stay_matters: float  # share of apps whose followers after a glance are others than after a stay
    regimes: int  # how often the followers are drawn anew, plus one
    resume: float  # share of sessions that may begin with the app that ended the last


@dataclass(frozen=True)
class Stays:
    """How long apps are used, and the pauses between."""

    session_usages: float  # mean number in a session
    session_spread: float  # sd of a person's log session length, on top of the geometric
    seconds: float  # median of a stay
    app_spread: float  # sd of the log median between apps
    spread: float  # sd of the log within an app
    glances: float  # mean share of glances
    glance_seconds: float
    pause_seconds: float  # median pause within a session
    pauses: float  # share of usages followed by any pause


@dataclass(frozen=True)
class Person:
    day: Day
    tastes: Tastes
    habits: Habits
    stays: Stays


def draw_person(rng: Random) -> Person:
    desktop = rng.random() < 0.15
    return Person(_day(rng, desktop), _tastes(rng, desktop), _habits(rng, desktop), _stays(rng, desktop))


def _day(rng: Random, desktop: bool) -> Day:
    wake = rng.normal(9.0 if desktop else 7.0, 1.3)
    awake = rng.uniform(5, 18) if desktop else rng.uniform(13.5, 19)
    peaks = tuple(
        (wake + rng.uniform(0, awake), _log_uniform(rng, 0.2, 2.5), rng.uniform(0.5, 3.0))
        for _ in range(rng.integers(0, 3))
    )
    return Day(
        usages=float(np.clip(np.exp(rng.normal(5 if desktop else 3.9, 1.2)), 2, 900)),
        wake=wake,
        awake=awake,
        weekend_shift=rng.normal(0.7, 1.0),
        night=_log_uniform(rng, 0.001, 0.4),
        peaks=peaks,
        unevenness=rng.uniform(0.1, 1.2),
        clustered=rng.uniform(0, 0.8),
        cluster_gap=_log_uniform(rng, 8, 40),
    )


def _tastes(rng: Random, desktop: bool) -> Tastes:
    return Tastes(
        apps=int(_log_uniform(rng, 4, 40) if desktop else _log_uniform(rng, 18, 185)),
        zipf=rng.uniform(1.0, 3.2) if desktop else rng.uniform(0.3, 1.8),
        settings=int(rng.integers(1, 9)),
        setting_strength=_log_uniform(rng, 0.4, 2.5),
        setting_blur=rng.uniform(0, 0.3),
        session_start=_log_uniform(rng, 0.1, 1.5),
        drift=_log_uniform(rng, 0.05, 3.0),
        bursts=_log_uniform(rng, 0.005, 0.4),
        burst_strength=rng.uniform(0.5, 4.0),
        installs=rng.uniform(0, 0.6),
        novelty=rng.uniform(0, 3.0),
        explore=_log_uniform(rng, 0.005, 0.2),
        explore_decay=rng.uniform(0.0, 0.8),
        notified=rng.uniform(0, 0.4),
        notifiers=int(rng.integers(1, 6)),
    )


def _habits(rng: Random, desktop: bool) -> Habits:
    within = np.array([0.15, 0.06, 0.06, 0.28, 0.07, 0.09, 0.29]) * np.exp(rng.normal(0, 1.1, len(HOWS)))
    first = np.array([0.12, 0.05, 0.03, 0.14, 0.04, 0.14, 0.48]) * np.exp(rng.normal(0, 1.1, len(HOWS)))
    restless = desktop or rng.random() < 0.06  # forever back and forth
    wanderer = not restless and rng.random() < 0.1  # hardly ever back
    if wanderer:
        within[:FOLLOW] *= 0.1
    back = rng.beta(2.5, 2.0) if restless else rng.beta(0.3, 12.0) if wanderer else rng.beta(0.6, 7.0)
    glance = rng.beta(1.0, 1.5) if rng.random() < 0.2 else min(0.97, back * np.exp(rng.normal(0, 0.7)))
    return Habits(
        within=tuple(within / within.sum()),
        first=tuple(first / first.sum()),
        back=back,
        back_after_glance=float(glance),
        back_at_start=rng.uniform(0, 1),
        back_spread=_log_uniform(rng, 0.5, 15.0),
        lag_decay=rng.uniform(0.2, 1.8),
        session_memory=rng.uniform(0, 1),
        swings=0.0 if wanderer else _log_uniform(rng, 0.0005, 0.04),
        swing_length=_log_uniform(rng, 2, 12),
        swing_three=rng.uniform(0, 0.7),
        focus=_log_uniform(rng, 0.12, 0.9),
        hub=rng.beta(2.0, 2.0) if restless else 0.0 if wanderer else rng.beta(0.6, 4.0),
        stay_matters=rng.uniform(0, 1),
        regimes=int(rng.integers(1, 5)),
        resume=rng.uniform(0, 1),
    )


def _stays(rng: Random, desktop: bool) -> Stays:
    return Stays(
        session_usages=_log_uniform(rng, 3, 60) if desktop else _log_uniform(rng, 1.0, 9),
        session_spread=rng.uniform(0.1, 1.2),
        seconds=_log_uniform(rng, 8, 250),
        app_spread=rng.uniform(0.2, 1.3),
        spread=rng.uniform(0.8, 3.2),
        glances=rng.beta(1.0, 2.5),
        glance_seconds=_log_uniform(rng, 1, 10),
        pause_seconds=_log_uniform(rng, 0.5, 25),
        pauses=rng.beta(0.5, 0.5),
    )


def _log_uniform(rng: Random, low: float, high: float) -> float:
    return float(low * (high / low) ** rng.random())


def pick(shares: Floats | tuple[float, ...], chance: Floats) -> Longs:
    """One of the places by their shares, which sum to 1, for every chance from 0 to 1."""
    return np.searchsorted(np.cumsum(shares)[:-1], chance)


def power_law(size: int, exponent: float) -> Floats:
    """(size,) r ** -exponent, as shares."""
    weight: Floats = np.arange(1.0, size + 1) ** -exponent
    weight /= weight.sum()
    return weight
