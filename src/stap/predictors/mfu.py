"""Most frequently used: the apps by how often they were opened."""

from __future__ import annotations

from stap.events import OPEN, Event, Moment, Ranking
from stap.predictors.order import Tally


class MostFrequent:
    """A probability is the app's share of all usages; of two equally frequent apps the one used last is ahead."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._current: str | None = None

    def observe(self, event: Event) -> None:
        if event.action == OPEN and event.app != self._current:
            self._tally.add(event.app)
            self._current = event.app

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        counts, total = self._tally.counts, self._tally.total
        return [(app, counts[app] / total) for app in self._tally.top(max(k, 0))]
