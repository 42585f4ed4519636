"""First-order Markov chain: what followed this app before, backed by recency and frequency."""

from __future__ import annotations

import numpy as np

from stap.events import Event, Floats
from stap.predictors.coded import NOBODY, Coded

BACKOFF = 50.0  # how many transitions the prior is worth: transitions are spread thin, and habits change


class Markov(Coded):
    """P(next | current) = (transitions + BACKOFF * prior) / (transitions in all + BACKOFF), without the current app.

    The prior is half recency, 1 / (r (r + 1)) for the r-th latest app, and half frequency.
    """

    def __init__(self) -> None:
        super().__init__()
        self._next: list[dict[int, int]] = []  # for each app: next app -> how often
        self._count: list[int] = []
        self._latest: list[int] = []  # codes, latest first

    def _open(self, code: int, event: Event) -> None:
        if code == len(self._next):
            self._next.append({})
            self._count.append(0)
        else:
            self._latest.remove(code)
        self._latest.insert(0, code)
        self._count[code] += 1
        if self.current != NOBODY:
            row = self._next[self.current]
            row[code] = row.get(code, 0) + 1

    def _predict(self) -> Floats:
        place = np.arange(1.0, len(self.names) + 1)
        probability: Floats = np.array(self._count, float)
        probability /= probability.sum()
        probability[self._latest] += 1.0 / (place * (place + 1.0))
        probability *= BACKOFF / 2
        row = self._next[self.current]
        probability[list(row)] += list(row.values())
        probability[self.current] = 0.0
        probability /= max(probability.sum(), 1e-300)
        return probability
