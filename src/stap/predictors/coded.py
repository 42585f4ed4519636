"""What the array-based predictors share: apps as codes, one usage at a time, and a prediction made once an event."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from stap.events import OPEN, Event, Floats, Ranking

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
        self._best: list[int] | None = None  # codes by probability

    def observe(self, event: Event) -> None:
        if event.action != OPEN:
            self._close(event)
            return
        code = self._codes.get(event.app, len(self.names))
        if code == self.current:
            return
        self._open(code, event)
        if code == len(self.names):
            self._codes[event.app] = code
            self.names.append(event.app)
        self.current = code
        self._outdate()

    def rank(self, k: int) -> Ranking:
        if not self.names:
            return []
        probability = self.probability()
        if self._best is None:
            best = np.argsort(-probability, kind="stable").tolist()
            best.remove(self.current)
            self._best = best
        return [(self.names[code], float(probability[code])) for code in self._best[: max(k, 0)]]

    def probability(self) -> Floats:
        """(apps,) of being next, for every app seen so far."""
        if self._probability is None:
            self._probability = self._predict()
        return self._probability

    def _outdate(self) -> None:
        self._probability = self._best = None

    @abstractmethod
    def _open(self, code: int, event: Event) -> None:
        """Learn from a usage that begins. `current` is still the app before it; a new app's code is len(names)."""

    def _close(self, event: Event) -> None:  # noqa: B027 - a hook, not a duty
        """Learn from a usage that ends: nothing, for those who look at the sequence alone."""

    @abstractmethod
    def _predict(self) -> Floats:
        """(apps,) the probability of each being next; the current app's is 0, every other's positive."""
