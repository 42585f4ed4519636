"""Will the app that was used last be opened again? By the pause, this person's habit, the app's own, and the hour.

Notable:
- counts of returns fade, and a finer count leans on the coarser one until it has seen enough of its own
- their log odds are inputs of a logistic regression that every launch corrects, in small steps
- asked WHENEVER, the answer is the share of returns over all pauses
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable

import numpy as np

from stap.events import AT_ONCE, Floats

PAUSES = (AT_ONCE, 5.0, 30.0, 240.0)  # minutes that part launches at once from four lengths of pause
USUAL = (0.02, 0.50, 0.42, 0.37, 0.25)  # how often people return, by length of pause: where everybody begins
WHENEVER_USUAL, WHENEVER_STRENGTH = 0.2, 8.0
STRENGTH = (40.0, 4.0, 4.0, 4.0, 4.0)  # launches that the usual is worth
FADE, OWN_FADE = 0.99, 0.98  # what is left of a count after another launch of its kind
OWN, HOURLY = 3.0, 10.0  # launches that the coarser count is worth in a finer one
HOURS = 3  # hours that a part of the day has
START = (1.0, 0.7, 0.3, 0.3)  # weights of the four inputs
RATE = 0.01
SURE = 1e-3  # no chance is nearer to 0 or 1


class Returns:
    """One person's habit of opening the same app again."""

    def __init__(self) -> None:
        self._by_pause = [[n * usual, n] for n, usual in zip(STRENGTH, USUAL, strict=True)]  # (returns, launches)
        self._all = [WHENEVER_STRENGTH * WHENEVER_USUAL, WHENEVER_STRENGTH]
        self._finer: dict[Hashable, list[float]] = {}
        self._weights: Floats = np.array(START)

    def probability(self, app: int, pause: float, hour: float) -> float:
        """After `pause` minutes without an app, at an hour of the day."""
        return _chance(float(self._weights @ self._inputs(app, length_of(pause), hour)))

    def whenever(self, app: int) -> float:
        return _share(self._finer.get(app), self._all[0] / self._all[1], OWN)

    def learn(self, app: int, pause: float, hour: float, returned: bool) -> None:
        """A launch came: of the same app, or of another."""
        length = length_of(pause)
        inputs = self._inputs(app, length, hour)
        self._weights += RATE * (returned - _chance(float(self._weights @ inputs))) * inputs
        _count(self._by_pause[length], returned, FADE)
        _count(self._all, returned, FADE)
        for key in (app, *self._keys(app, length, hour)):
            _count(self._finer.setdefault(key, [0.0, 0.0]), returned, OWN_FADE)

    def forget(self, app: int) -> None:
        """Codes behind it move up."""
        finer = dict[Hashable, list[float]]()
        for key, count in self._finer.items():
            code, *rest = key if isinstance(key, tuple) else (key,)
            if "hour" in rest:
                finer[key] = count
            elif code != app:
                finer[(code - (code > app), *rest) if rest else code - (code > app)] = count
        self._finer = finer

    def _inputs(self, app: int, length: int, hour: float) -> Floats:
        """Log odds of the person's habit, and what the app, the app after such a pause, and the hour add to it."""
        by_app, by_app_and_pause, by_hour = (self._finer.get(key) for key in self._keys(app, length, hour))
        habit = self._by_pause[length][0] / self._by_pause[length][1]
        base = habit if length == 0 else _pooled(self._by_pause[1:])
        own = _share(by_app, habit, OWN)
        finest = _share(by_app_and_pause, own, OWN)
        hourly = _share(by_hour, base, HOURLY)
        odds = [log_odds(chance) for chance in (habit, own, finest, hourly, base)]
        return np.array([odds[0], odds[1] - odds[0], odds[2] - odds[1], odds[3] - odds[4]])

    @staticmethod
    def _keys(app: int, length: int, hour: float) -> tuple[Hashable, ...]:
        paused = length > 0
        return (app, paused), (app, paused, length), (paused, "hour", int(hour) // HOURS)


def length_of(pause: float) -> int:
    """0: at once; 1 to 4: ever longer pauses. (A launch a minute after the close is still at once.)"""
    return bisect_right(PAUSES, pause) if pause > AT_ONCE else 0


def _count(count: list[float], returned: bool, fade: float) -> None:
    count[0] = count[0] * fade + returned
    count[1] = count[1] * fade + 1.0


def _share(count: list[float] | None, coarser: float, worth: float) -> float:
    returns, launches = count or (0.0, 0.0)
    return (returns + worth * coarser) / (launches + worth)


def _pooled(counts: list[list[float]]) -> float:
    return sum(returns for returns, _ in counts) / sum(launches for _, launches in counts)


def log_odds(chance: float) -> float:
    bounded = min(max(chance, SURE), 1.0 - SURE)
    return math.log(bounded / (1.0 - bounded))


def _chance(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))
