"""When a person takes the device out, and for how many usages: by hour of day, weekday, busy and quiet days."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stap.events import DAY, Bools, Floats, Longs
from stap.prior.person import Day, Person, Random, pick

BIN = 15.0  # minutes
EPOCH_DAYS = (15_340, 20_450)  # 2012 to 2025, in days since 1970


@dataclass(frozen=True)
class Sessions:
    """Sorted by time; session s owns the usages first[s] : first[s] + length[s]."""

    time: Floats  # (sessions,) minutes since 1970
    length: Longs  # (sessions,) usages
    first: Longs  # (sessions,)

    @cached_property
    def place(self) -> Longs:
        """(usages,) 0 for the first of its session, and so on."""
        return np.arange(int(self.length.sum())) - np.repeat(self.first, self.length)

    @cached_property
    def of(self) -> Longs:
        """(usages,) which session."""
        return np.repeat(np.arange(len(self.time)), self.length)


def draw_sessions(person: Person, usages: int, rng: Random) -> Sessions:
    """Sessions of exactly so many usages together."""
    length = _lengths(person, usages, rng)
    days = max(1, round(usages / person.day.usages))
    return Sessions(
        time=_times(person.day, len(length), days, rng),
        length=length,
        first=np.concatenate([[0], np.cumsum(length)[:-1]]),
    )


def _lengths(person: Person, usages: int, rng: Random) -> Longs:
    """Geometric, with a mean that varies from session to session."""
    mean, spread = person.stays.session_usages, person.stays.session_spread
    count = int(2 * usages / mean) + 8
    while True:
        means = np.maximum(1.0, mean * np.exp(rng.normal(-(spread**2) / 2, spread, count)))
        length = rng.geometric(1 / means)
        total = np.cumsum(length)
        if total[-1] >= usages:
            break
        count *= 2
    last = int(np.searchsorted(total, usages))
    length = length[: last + 1]
    length[last] -= total[last] - usages
    return length.astype(np.int64)


def _times(day: Day, sessions: int, days: int, rng: Random) -> Floats:
    """Sorted; some sessions follow close upon another, the rest come as the day has it."""
    activity = np.exp(rng.normal(0, day.unevenness, days))
    which = pick(activity / activity.sum(), rng.random(sessions)) + rng.integers(*EPOCH_DAYS)
    chance = rng.random(sessions)
    bins = np.where(is_weekend(which), _bins(day, day.weekend_shift, chance), _bins(day, 0.0, chance))
    time = which * DAY + (bins + rng.random(sessions)) * BIN
    follows = np.flatnonzero(rng.random(sessions) < day.clustered)
    time[follows] = time[rng.integers(0, sessions, len(follows))] + 5 + rng.exponential(day.cluster_gap, len(follows))
    time.sort()
    return time


def _bins(day: Day, shift: float, chance: Floats) -> Longs:
    """Quarter hours drawn from the day's profile by their cumulative share."""
    hour = (np.arange(int(DAY / BIN)) + 0.5) * BIN / 60
    since = (hour - day.wake - shift) % 24
    profile = np.where(since < day.awake, 1.0, day.night)
    for at, strength, width in day.peaks:
        away = np.abs((hour - at - shift + 12) % 24 - 12)
        profile = profile + strength * np.exp(-0.5 * (away / width) ** 2)
    return pick(profile / profile.sum(), chance)


def is_weekend(day: Longs | Floats) -> Bools:
    """Of days since 1970-01-01, which was a Thursday: 3, when Monday is 0."""
    weekend: Bools = (day + 3) % 7 >= 5
    return weekend
