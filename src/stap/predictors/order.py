"""Apps kept in order while events arrive, so that an event or a ranking costs the same however many there are."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain, islice


class Recency:
    """Apps by last use."""

    def __init__(self) -> None:
        self._apps: dict[str, None] = {}  # the latest is the last

    def touch(self, app: str) -> None:
        self._apps.pop(app, None)
        self._apps[app] = None

    def latest(self, k: int, skip: int = 0) -> list[str]:
        """At most k of them, latest first, without the first few."""
        return list(islice(reversed(self._apps), skip, skip + k))


class Tally:
    """Apps by count; among equals the one counted last comes first."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.total = 0
        self._levels: list[int] = []  # the counts that occur, ascending: few, however many apps there are
        self._apps: dict[int, dict[str, None]] = {}  # a level's apps, the one counted last is the last

    def add(self, app: str) -> None:
        count = self.counts.get(app, 0) + 1
        place = bisect_left(self._levels, count)
        if count not in self._apps:
            self._apps[count] = {}
            self._levels[place:place] = [count]
        self._apps[count][app] = None
        if count > 1:
            del self._apps[count - 1][app]
            if not self._apps[count - 1]:
                del self._apps[count - 1], self._levels[place - 1]
        self.counts[app] = count
        self.total += 1

    def top(self, k: int) -> list[str]:
        """At most k of them, highest first."""
        levels = map(self._apps.__getitem__, reversed(self._levels))
        return list(islice(chain.from_iterable(map(reversed, levels)), k))
