"""Partial matching blended with the clock: the hour of day, how long ago, how long the current app was open."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from stap.events import Event, Floats, Moment
from stap.predictors.cues import Cues
from stap.predictors.fading import Fading
from stap.predictors.hours import Hours
from stap.predictors.ppm import UNSEEN, WEIGHTS, Ppm

HALF_LIVES = np.array([5.0, 1440.0])  # minutes
STAYS = (0.25, 1.0, 5.0)  # minutes that part a glance, a short, a longer and a long usage
ORDER_1 = list(WEIGHTS).index("order 1")


class Blend(Ppm):
    """PPM with four more experts. How long the current usage lasted is known only once it is closed."""

    weights = WEIGHTS | {"fast": 0.12, "order 1": 0.13, "minutes": 0.11, "day": 0.07, "hour": 0.36, "stay": 0.12}
    bias_sets = 2 + len(STAYS)

    def __init__(self) -> None:
        super().__init__()
        self._hours = Hours()
        self._clock_frequency = Fading(len(HALF_LIVES))
        self._stays = Cues()
        self._stay: int | None = None
        self._opened = 0.0
        self._hour = 0.0
        self._sequence: Floats | None = None  # PPM's experts: a close changes nothing in them

    def _open(self, code: int, event: Event) -> None:
        super()._open(code, event)
        if self._stay is not None:
            self._stays.add((self.current, self._stay), code)
        self._hours.add(code, event.hour)
        elapsed = max(0.0, event.minutes - self._opened)
        self._clock_frequency.add(code, 0.5 ** (elapsed / HALF_LIVES))
        self._stay, self._opened, self._hour = None, event.minutes, event.hour
        self._sequence = None

    def _reopen(self, event: Event) -> None:
        self._stay, self._hour = None, event.hour
        self._outdate()

    def _close(self, event: Event) -> None:
        if self.names and event.app == self.names[self.current]:
            self._stay = bisect_right(STAYS, event.minutes - self._opened)
            self._hour = event.hour
            self._outdate()

    def _forget(self, code: int) -> None:
        if code == self.current:
            self._stay = None
        self._stays.forget(code, lambda cue: slice(0, 1))
        self._hours.forget(code)
        self._clock_frequency.forget(code)
        self._sequence = None
        super()._forget(code)

    def _experts(self) -> Floats:
        if self._sequence is None:
            self._sequence = super()._experts()
        apps = len(self.names)
        share = np.empty((len(self.weights), apps))
        share[: len(WEIGHTS)] = self._sequence
        self._by_the_clock(share, self._hour)
        share[-1] = share[ORDER_1]
        if self._stay is not None:
            share[-1] = self._stays.sharpen(share[-1], (self.current, self._stay))
        return share

    def _by_the_clock(self, share: Floats, hour: float, left: Floats | None = None) -> None:
        """The experts that see the time; left: of the counts that fade by minutes."""
        counts = self._clock_frequency.counts(share.shape[1])
        share[-4:-2] = counts if left is None else counts * left[:, None]
        share[-4:-2] += UNSEEN
        share[-2] = self._hours.lift(share.shape[1], hour)

    def _predict_at(self, at: Moment) -> Floats:
        if len(self.names) == 1:
            return np.zeros(1)
        return self._mixer.mix(np.log(self._experts_at(at)), *self._mixed())

    def _experts_at(self, at: Moment) -> Floats:
        share = self._experts()
        self._by_the_clock(share, at.hour, 0.5 ** (max(0.0, at.minutes - self._opened) / HALF_LIVES))
        return share

    def _bias_sets(self) -> list[int]:
        return [0] if self._stay is None else [0, self._stay + 1]
