"""Most recently used, twice: as the paper has it, and as a rival should be."""

from __future__ import annotations

from stap.events import AT_ONCE, OPEN, Event, Moment, Ranking
from stap.predictors.order import Recency


class MostRecent:
    """The paper's MRU: latest first, the current app at the head, where it is never right.

    The order is all that it knows. Its r-th place gets 1 / (r (r + 1)): falling, heavy-tailed, and 1 in sum.
    """

    _skip = 0

    def __init__(self) -> None:
        self._recency = Recency()
        self._current: str | None = None

    def observe(self, event: Event) -> None:
        if event.action == OPEN and event.app != self._current:
            self._recency.touch(event.app)
            self._current = event.app

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        return self._ranked(k, self._skip)

    def _ranked(self, k: int, skip: int) -> Ranking:
        apps = self._recency.latest(max(k, 0), skip)
        return [(app, 1.0 / (place * (place + 1))) for place, app in enumerate(apps, 1)]


class Previous(MostRecent):
    """Back to the app before this one: MRU without the current app, which merging makes impossible as the next."""

    _skip = 1


class Again(Previous):
    """The latest app again after a pause, the one before it otherwise: what one line of code knows of launches."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0.0

    def observe(self, event: Event) -> None:
        super().observe(event)
        self._seen = event.minutes

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        paused = at is not None and (at.whenever or at.minutes - self._seen > AT_ONCE)
        return self._ranked(k, 0 if paused else 1)
