"""Apps kept in order while events arrive, so that ranking them costs nothing: by recency, and by count."""

from __future__ import annotations

from bisect import bisect_left


class Recency:
    """Apps by last use, latest first (move to front)."""

    def __init__(self) -> None:
        self.apps: list[str] = []
        self._seen: set[str] = set()

    def touch(self, app: str) -> None:
        """The search starts at the front, where the apps that people return to are."""
        if app in self._seen:
            self.apps.remove(app)
        else:
            self._seen.add(app)
        self.apps.insert(0, app)


class Tally:
    """Apps by count, highest first; among equals the one counted last comes first."""

    def __init__(self) -> None:
        self.apps: list[str] = []
        self.counts: dict[str, int] = {}
        self.total = 0
        self._falling: list[int] = []  # minus the counts, in the order of `apps`: ascending, for bisect

    def add(self, app: str) -> None:
        count = self.counts.get(app, 0)
        if count:
            place = self.apps.index(app, bisect_left(self._falling, -count))
            del self.apps[place], self._falling[place]
        place = bisect_left(self._falling, -count - 1)
        self.apps.insert(place, app)
        self._falling.insert(place, -count - 1)
        self.counts[app] = count + 1
        self.total += 1
