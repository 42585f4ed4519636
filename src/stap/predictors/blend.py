"""Partial matching blended with the hour of day."""

from __future__ import annotations

import numpy as np

from stap.events import Floats
from stap.predictors.base import Event
from stap.predictors.ppm import Ppm


class Blend(Ppm):
    """PPM's probability times a power of how much more often than usual an app is used at this hour."""

    def __init__(self) -> None:
        super().__init__()
        self._hours: list[Floats] = []
        self._hour = 0.0

    def _open(self, code: int, event: Event) -> None:
        if code == len(self._hours):
            self._hours.append(np.full(24, 0.2))
        self._hours[code][int(event.hour)] += 1.0
        self._hour = event.hour
        super()._open(code, event)

    def _predict(self) -> Floats:
        counts = np.array(self._hours)
        here = counts[:, [(int(self._hour) + shift) % 24 for shift in (-1, 0, 1)]].sum(axis=1)
        lift = (here + 1.0) / (counts.sum(axis=1) / 8.0 + 1.0)
        probability: Floats = super()._predict() * lift**0.5
        probability /= max(probability.sum(), 1e-300)
        return probability
