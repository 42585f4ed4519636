"""Partial matching blended with the clock: the hour of day, how long ago, how long the current app was open."""

from __future__ import annotations

import numpy as np

from stap.events import Floats
from stap.predictors.base import Event
from stap.predictors.contexts import Contexts
from stap.predictors.fading import Fading
from stap.predictors.ppm import UNSEEN, WEIGHTS, Ppm

HALF_LIVES = np.array([5.0, 1440.0])  # minutes
KAPPA = 8.0  # how sharp an hour is: von Mises, about an hour and a half to each side
SURE = 2.0  # usages spread evenly over the day that every app starts with
STAYS = (0.25, 1.0, 5.0)  # minutes that part a glance, a short, a longer and a long usage
_ANGLE = (np.arange(24) + 0.5) * (2.0 * np.pi / 24.0)


class Blend(Ppm):
    """PPM with four more experts. How long the current usage lasted is known only once it is closed."""

    weights = WEIGHTS | {"minutes": 0.1, "day": 0.05, "hour": 0.37, "stay": 0.1}
    bias_sets = 2 + len(STAYS)

    def __init__(self) -> None:
        super().__init__()
        self._hours = np.zeros((32, 24))
        self._clock_frequency = Fading(len(HALF_LIVES))
        self._stays = Contexts()
        self._stay: int | None = None
        self._opened = 0.0
        self._hour = 0.0

    def _open(self, code: int, event: Event) -> None:
        super()._open(code, event)
        if self._stay is not None:
            self._stays.add((self.current, self._stay), code)
        if code >= len(self._hours):
            self._hours = np.pad(self._hours, ((0, len(self._hours)), (0, 0)))
        self._hours[code, int(event.hour) % 24] += 1.0
        elapsed = max(0.0, event.minutes - self._opened)
        self._clock_frequency.add(code, 0.5 ** (elapsed / HALF_LIVES))
        self._stay, self._opened, self._hour = None, event.minutes, event.hour

    def _close(self, event: Event) -> None:
        if self.names and event.app == self.names[self.current]:
            self._stay = sum(event.minutes - self._opened >= limit for limit in STAYS)
            self._hour = event.hour
            self._outdate()

    def _experts(self) -> Floats:
        sequence = super()._experts()
        apps = len(self.names)
        hours = self._hours[:apps]
        near = np.exp(KAPPA * (np.cos(_ANGLE - self._hour * (2.0 * np.pi / 24.0)) - 1.0))
        hour = (hours @ (near / near.mean()) + SURE) / (hours.sum(axis=1) + SURE)
        stay = sequence[2]
        if self._stay is not None:
            stay = self._stays.sharpen(stay, (self.current, self._stay))
        return np.vstack([sequence, self._clock_frequency.counts(apps) + UNSEEN / 2, hour, stay])

    def _bias_sets(self) -> list[int]:
        return [0] if self._stay is None else [0, self._stay + 1]
