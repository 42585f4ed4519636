"""Who looks on: each waits until something of its user has changed. Many changes at once are one."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from stap.errors import BadInput

MOST_WATCHERS = 64
MOST_SAID = 64  # messages that wait for a slow line; of more the oldest are left out
SILENCE = 15.0  # seconds after which a comment shows that the line is alive


def message(event: str, told: dict[str, Any]) -> str:
    """As server-sent events have it."""
    return f"event: {event}\ndata: {json.dumps(told)}\n\n"


class Watcher:
    """One open line."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._said: deque[str] = deque(maxlen=MOST_SAID)

    def wake(self, said: str = "") -> None:
        if said:
            self._said.append(said)
        self._loop.call_soon_threadsafe(self._changed.set)

    def heard(self) -> str:
        """What was said since the last time."""
        return "".join(self._said.popleft() for _ in range(len(self._said)))

    async def changed(self, seconds: float) -> bool:
        """Whether something changed before the time was over."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return False
        self._changed.clear()
        return True


class Hub:
    """All open lines, by user. Any thread may poke."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[Watcher]] = {}
        self._lock = Lock()
        self.closed = False

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))

    def poke(self, user: str, said: str = "") -> None:
        with self._lock:
            for watcher in self._watchers.get(user, ()):
                watcher.wake(said)

    def tell(self, user: str, event: str, told: dict[str, Any]) -> None:
        """Something happened that a ranking does not show."""
        self.poke(user, message(event, told))

    def close(self) -> None:
        self.closed = True
        for user in list(self._watchers):
            self.poke(user)

    @contextmanager
    def watching(self, user: str) -> Iterator[Watcher]:
        watcher = Watcher()
        with self._lock:
            if len(self) >= MOST_WATCHERS:
                raise BadInput("live", f"{MOST_WATCHERS} lines are open", "close one")
            self._watchers.setdefault(user, set()).add(watcher)
        try:
            yield watcher
        finally:
            with self._lock:
                self._watchers[user].discard(watcher)
                if not self._watchers[user]:
                    del self._watchers[user]
