"""Feeds at work: each in a thread, until the server stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import Any, Protocol

from stap.serve.core import Core
from stap.serve.feeds.base import Polled
from stap.serve.feeds.marks import EVERYBODY, FOLDER, Marks
from stap.serve.models import EventIn

REPLAY = "replay"  # a feed of this name tells the past as if it were now


class Feed(Protocol):
    """A place where events come from by themselves. `send` is durable when it returns, and idempotent by id."""

    name: str
    state: str
    last: datetime | None

    def run(self, send: Callable[[str, list[EventIn]], None], stop: Event) -> None: ...


class Feeding:
    """The feeds of a server."""

    def __init__(self, core: Core, feeds: Sequence[Feed] = ()) -> None:
        self._core, self._feeds, self._stop = core, feeds, Event()
        self._turn = Lock()  # nothing is sent while something is deleted
        self._threads = [Thread(target=self._run, args=(feed,), name=feed.name, daemon=True) for feed in feeds]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """They hear of it; one that waits for somebody else is not waited for."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=1.0)

    @property
    def replaying(self) -> bool:
        return any(feed.name == REPLAY and feed.state == "running" for feed in self._feeds)

    def told(self) -> list[dict[str, Any]]:
        return [
            {"name": feed.name, "state": feed.state, "last": None if feed.last is None else feed.last.isoformat()}
            for feed in self._feeds
        ]

    def forget(self, name: str, app: str) -> None:
        """An app's events leave the store, and feeds do not bring back what was before."""
        self._core.user(name)
        with self._turn:
            for marks in self._marks():
                marks.forget(name, datetime.now(UTC), app)
            self._core.forget(name, app)

    def delete(self, name: str) -> None:
        """Nothing of a user stays, and feeds do not bring back what they still know of the time before."""
        self._core.user(name)
        with self._turn:
            for marks in self._marks():
                marks.forget(name, datetime.now(UTC))
            self._core.delete(name)

    def delete_everything(self) -> None:
        """The same of everybody, and of what the feeds have noted for themselves."""
        with self._turn:
            for marks in self._marks():
                marks.forget(EVERYBODY, datetime.now(UTC))
            self._core.delete_everything()

    def _marks(self) -> Iterator[Marks]:
        """Of all feeds that there have been, also of those that do not run now."""
        running = [feed.marks for feed in self._feeds if isinstance(feed, Polled)]
        yield from running
        for path in sorted((self._core.settings.folder / FOLDER).glob("*.json")):
            if path not in [marks.path for marks in running]:
                yield Marks(path)

    def _run(self, feed: Feed) -> None:
        def send(user: str, events: list[EventIn]) -> None:
            if feed.name == REPLAY:
                self._core.replayed.add(user)
            with self._turn:
                if isinstance(feed, Polled):
                    events = [event for event in events if event.at >= feed.marks.deleted(user, event.app)]
                taken = self._core.take(user, events) if events else None
            if taken is not None:
                taken.result()

        feed.run(send, self._stop)
