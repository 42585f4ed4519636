"""What the array-based predictors share: apps as codes, one usage at a time, and a ranking computed once a usage."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from stap.events import OPEN, Floats
from stap.predictors.base import Event, Ranking

NOBODY = -1  # no app is open yet


class Coded(ABC):
    """A predictor over app codes 0, 1, ... in order of first use.

    An open of the app that is open already is the same usage going on, as in merging, and changes nothing.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.current = NOBODY
        self._codes: dict[str, int] = {}
        self._probability: Floats | None = None  # of every app; None when an event has outdated it
        self._best: list[int] = []

    def observe(self, event: Event) -> None:
        if event.action != OPEN:
            self._close(event)
            return
        code = self._codes.get(event.app)
        if code == self.current:
            return
        if code is None:
            code = self._codes[event.app] = len(self.names)
            self.names.append(event.app)
        self._open(code, event)
        self.current = code
        self._probability = None

    def rank(self, k: int) -> Ranking:
        if not self.names:
            return []
        if self._probability is None:
            self._probability = self._predict()
            self._best = np.argsort(-self._probability, kind="stable").tolist()
        probability = self._probability
        best = (code for code in self._best[: k + 1] if code != self.current)
        return [(self.names[code], float(probability[code])) for code, _ in zip(best, range(k), strict=False)]

    @abstractmethod
    def _open(self, code: int, event: Event) -> None:
        """Learn from a usage that begins; `current` is still the app before it."""

    def _close(self, event: Event) -> None:  # noqa: B027 - a hook, not a duty
        """Learn from a usage that ends. The sequence says nothing new here, so most predictors do nothing."""

    @abstractmethod
    def _predict(self) -> Floats:
        """(apps,) the probability of each being next; the current app's is 0, every other's positive."""
