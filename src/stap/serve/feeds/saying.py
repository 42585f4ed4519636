"""What a log says has happened, as events: each with an id made of its contents, and no close that may still change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from hashlib import sha256
from heapq import merge
from itertools import islice
from typing import NamedTuple

import polars as pl
from pydantic import ValidationError

from stap.serve.models import AHEAD, EventIn, Kind, micros
from stap.sources import Imported
from stap.usage import GAP

PART = 256  # events, some milliseconds
AWAY = timedelta(seconds=GAP)  # an app that is back sooner has not been closed


class Clock(NamedTuple):
    """How a log's times are to be understood, and in which zone the person lives."""

    written: tzinfo  # of the log's own times
    lived: tzinfo

    def at(self, time: datetime) -> datetime:
        """A log's time with the person's offset, which stays what it was then."""
        lived = time.replace(tzinfo=self.written).astimezone(self.lived)
        return lived.replace(tzinfo=timezone(lived.utcoffset() or timedelta()), fold=0)

    def shows(self, moment: datetime) -> datetime:
        """The time that the log's own clock shows at a moment."""
        return moment.astimezone(self.written).replace(tzinfo=None)


def event_id(kind: Kind, app: str, at: datetime) -> str:
    """The same for the same event, whoever tells it and in whatever zone it is told."""
    return sha256(f"{kind}\0{app}\0{micros(at)}".encode()).hexdigest()[:32]


def event(kind: Kind, app: str, at: datetime) -> EventIn | None:
    """None where no server takes it: a name that is too long or has control characters, a time of nobody's life."""
    if at > datetime.now(UTC) + AHEAD:
        return None
    try:
        return EventIn(id=event_id(kind, app, at), kind=kind, app=app, at=at)
    except ValidationError:
        return None


class Told(NamedTuple):
    """What a log says of one user."""

    user: str
    events: list[EventIn]  # in the order of time
    until: datetime | None  # the end of the last usage, which may be going on


def told(read: Imported, clock: Clock, now: datetime, wanted: Callable[[], None] = lambda: None) -> Iterator[Told]:
    """Everybody's events, as far as they are settled `now`.

    An open is, and a notification. A close is when another app followed, or when its app has been away for long enough
    not to come back as the same launch. `wanted` is called now and then, and raises when nobody wants them any more.
    """
    final = clock.shows(now) - AWAY
    users = dict.fromkeys([*read.table["user"], *read.notifications["user"]])
    for user in users:
        own, posted = (table.filter(pl.col("user") == user) for table in (read.table, read.notifications))
        notices = (event("notified", app, clock.at(time)) for app, time in posted.select("app", "time").iter_rows())
        both = merge(_usages(own, clock, final), filter(None, notices), key=lambda each: each.at)
        events = list[EventIn]()
        while part := list(islice(both, PART)):
            wanted()
            events += part
        yield Told(user, events, clock.at(own["end"][-1]) if len(own) else None)


def _usages(own: pl.DataFrame, clock: Clock, final: datetime) -> Iterator[EventIn]:
    rows = own.select("app", "start", "end").rows()
    for place, (app, start, end) in enumerate(rows, 1):
        settled = place < len(rows) or end < final
        spoken = (event("opened", app, clock.at(start)), event("closed", app, clock.at(end)) if settled else None)
        yield from filter(None, spoken)
