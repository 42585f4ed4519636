"""A log that grows and is asked for again and again: it goes on where it was left."""

from __future__ import annotations

from datetime import datetime, timedelta

from stap.serve.feeds.base import Outbox
from stap.serve.feeds.marks import Marks
from stap.serve.feeds.saying import Told

LATE = timedelta(minutes=10)  # a logger may write down so much later what came before something else
SELDOM = timedelta(minutes=5)  # how far a mark moves in memory before it is written, where nothing was sent


class Followed:
    """What began long before the mark is known, and is not told again."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._kept: dict[str, datetime] = {}  # what the disk knows of

    def since(self, key: str, now: datetime) -> datetime | None:
        """Up to when it has been read. A clock that was put back begins anew from what it shows."""
        mark = self._marks.time(key)
        return None if mark is None else min(mark, now)

    def tell(self, out: Outbox, key: str, told: Told, now: datetime, read_to: datetime | None = None) -> None:
        """`read_to`: that nothing else came until then is known; otherwise it was read up to its last usage."""
        since = self.since(key, now)
        fresh = out.deliver(told.user, (each for each in told.events if since is None or each.at >= since - LATE))
        reached = min(now, read_to or told.until or since or now)
        kept = self._kept.get(key)
        keep = bool(fresh) or kept is None or not timedelta() <= reached - kept < SELDOM
        self._marks.put(key, reached.isoformat(), keep)
        if keep:
            self._kept[key] = reached
