"""What the array-based predictors share: apps as codes, one usage at a time, and a prediction made once an event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from stap.events import AT_ONCE, OPEN, Event, Floats, Moment, Ranking
from stap.predictors.again import Returns

NOBODY = -1  # no app is open yet


class Coded(ABC):
    """A predictor over app codes 0, 1, ... in order of first use.

    Which other app comes next is learned from usages: an open of the app that is open already is the same usage going
    on, as in merging. Whether the same app comes again is learned apart (`Returns`), from launches.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.current = NOBODY
        self._codes: dict[str, int] = {}
        self._probability: Floats | None = None  # of every app; None when an event has outdated it
        self._best: list[int] | None = None  # codes by probability
        self._returns = Returns()
        self.left = 0.0  # minutes of the current app's last event
        self._closed = False

    def observe(self, event: Event) -> None:
        if event.action != OPEN:
            if self.names and event.app == self.names[self.current]:
                self.left, self._closed = max(self.left, event.minutes), True
            self._close(event)
            return
        code = self._codes.get(event.app, len(self.names))
        if self.current != NOBODY and self.is_launch(event):
            self._returns.learn(self.current, self._pause(event.minutes), event.hour, code == self.current)
        if code == self.current:
            self._reopen(event)
        else:
            self._open(code, event)
            if code == len(self.names):
                self._codes[event.app] = code
                self.names.append(event.app)
            self.current = code
            self._outdate()
        self.left, self._closed = event.minutes, False

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        if not self.names:
            return []
        if at is None:
            probability = self.probability()
            if self._best is None:
                best = np.argsort(-probability, kind="stable").tolist()
                best.remove(self.current)
                self._best = best
            return [(self.names[code], float(probability[code])) for code in self._best[: max(k, 0)]]
        probability = self.launch(at)
        best = np.argsort(-probability, kind="stable")[: max(k, 0)].tolist()
        return [(self.names[code], float(probability[code])) for code in best]

    def probability(self) -> Floats:
        """(apps,) of being the next other app, for every app seen so far."""
        if self._probability is None:
            self._probability = self._predict()
        return self._probability

    def launch(self, at: Moment) -> Floats:
        """(apps,) of being launched then, the current app included."""
        if len(self.names) == 1:
            return np.ones(1)
        again, others = self.again(at), self.probability() if at.whenever else self._predict_at(at)
        probability: Floats = others * (1.0 - again)
        probability[self.current] = again
        return probability

    def again(self, at: Moment) -> float:
        """How likely the current app is launched again then."""
        if at.whenever:
            return self._returns.whenever(self.current)
        return self._returns.probability(self.current, self._pause(at.minutes), at.hour)

    def is_launch(self, event: Event) -> bool:
        """An open of the current app is one if that was closed, or left for more than a moment."""
        same = self.current != NOBODY and event.app == self.names[self.current]
        return not same or self._closed or self._pause(event.minutes) > AT_ONCE

    def in_front(self, app: str) -> bool:
        return self.current != NOBODY and app == self.names[self.current] and not self._closed

    def paused(self, at: Moment) -> bool:
        return not at.whenever and self._pause(at.minutes) > AT_ONCE

    def _pause(self, minutes: float) -> float:
        return max(0.0, minutes - self.left)

    def _outdate(self) -> None:
        self._probability = self._best = None

    @abstractmethod
    def _open(self, code: int, event: Event) -> None:
        """Learn from a usage that begins. `current` is still the app before it; a new app's code is len(names)."""

    def _reopen(self, event: Event) -> None:  # noqa: B027 - a hook, not a duty
        """The current app is in front again."""

    def _close(self, event: Event) -> None:  # noqa: B027
        """Learn from a usage that ends: nothing, for those who look at the sequence alone."""

    @abstractmethod
    def _predict(self) -> Floats:
        """(apps,) the probability of each being next; the current app's is 0, every other's positive."""

    def _predict_at(self, at: Moment) -> Floats:
        """The same as of a later moment: no other, for those who look at the sequence alone."""
        return self.probability()


def shifted(codes: Iterable[int], gone: int) -> list[int]:
    """Without a code that is gone; those behind it move up."""
    return [code - (code > gone) for code in codes if code != gone]
