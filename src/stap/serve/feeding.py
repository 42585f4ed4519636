"""Feeds at work: each in a thread, until the server stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Event, Thread
from typing import Any, Protocol

from stap.serve.core import Core
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

    def _run(self, feed: Feed) -> None:
        def send(user: str, events: list[EventIn]) -> None:
            if feed.name == REPLAY:
                self._core.replayed.add(user)
            self._core.take(user, events).result()

        feed.run(send, self._stop)
