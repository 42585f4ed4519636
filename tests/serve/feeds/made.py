"""What the tests of feeds share: a server that takes events as the real one does, and may be away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Event

from stap.errors import BadInput
from stap.serve.feeds.base import Outbox, Polled
from stap.serve.feeds.marks import Marks
from stap.serve.models import MOST_EVENTS, EventIn

NEVER = Event()


class Server:
    """Keeps every event once, by its id."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, EventIn]] = {}
        self.away = False
        self.calls = 0

    def send(self, user: str, events: list[EventIn]) -> None:
        assert 1 <= len(events) <= MOST_EVENTS
        self.calls += 1
        if self.away:
            raise BadInput("stap.db", "cannot be written (disk is full)", "free some room")
        for event in events:
            self.events.setdefault(user, {}).setdefault(event.id, event)

    def said(self, user: str = "me") -> list[tuple[str, str, str]]:
        """(kind, app, time of day) in the order of time; of two at once as they came."""
        kept = sorted(self.events.get(user, {}).values(), key=lambda event: event.at)
        return [(event.kind, event.app, event.at.strftime("%H:%M:%S")) for event in kept]


def look(feed: Polled, server: Server, at: datetime | None = None) -> None:
    """One look with a memory of its own, as after a restart: everything it says may be a repetition."""
    if at is not None:
        feed.now = lambda: at
    feed.look(Outbox(server.send), NEVER)


def marks() -> Marks:
    return Marks(None)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


SECOND = timedelta(seconds=1)
