"""Prediction by partial matching: contexts of up to four apps, each mixed with the one an app shorter."""

from __future__ import annotations

import numpy as np

from stap.events import Floats
from stap.predictors.base import Event
from stap.predictors.coded import Coded

ORDER = 4


class Ppm(Coded):
    """Interpolated partial matching: an order's weight is how often its context was seen against how varied it is."""

    def __init__(self) -> None:
        super().__init__()
        self._past: tuple[int, ...] = ()
        self._next: dict[tuple[int, ...], dict[int, float]] = {}
        self._latest: list[int] = []

    def _open(self, code: int, event: Event) -> None:
        if code in self._latest:
            self._latest.remove(code)
        self._latest.insert(0, code)
        for order in range(len(self._past) + 1):
            row = self._next.setdefault(self._past[len(self._past) - order :], {})
            row[code] = row.get(code, 0.0) + 1.0
        self._past = (*self._past, code)[-ORDER:]

    def _predict(self) -> Floats:
        place = np.arange(1.0, len(self.names) + 1)
        probability: Floats = np.empty(len(self.names))
        probability[self._latest] = 1.0 / (place * (place + 1.0))
        for order in range(len(self._past) + 1):
            row = self._next.get(self._past[len(self._past) - order :])
            if row is None:
                break
            weight = 1.5 * len(row) if order else 30.0
            probability *= weight
            probability[list(row)] += list(row.values())
            probability /= weight + sum(row.values())
        probability[self.current] = 0.0
        probability /= max(probability.sum(), 1e-300)
        return probability
