"""Connections that do not hold the server up: whoever has not said what it wants in time is cut off.

uvicorn waits for the head of a request for as long as it takes. Many who say nothing would in the end use up the
connections that a process may have, so of those who keep us waiting the oldest is cut off first.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = 10.0  # seconds for the head of a request
MOST_WAITING = 256  # connections of which no whole head has come


class Patient(HttpToolsProtocol):
    """HTTP with a bound on how long a head may take, and on how many may be on their way."""

    waiting: ClassVar[dict[Patient, asyncio.TimerHandle]] = {}  # the oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self not in self.waiting:  # a further request of a connection
            self._wait()

    def on_headers_complete(self) -> None:
        self._done()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.waiting[self] = self.loop.call_later(HEAD, self._give_up)
        if len(self.waiting) > MOST_WAITING:
            next(iter(self.waiting))._give_up()

    def _done(self) -> None:
        if (timer := self.waiting.pop(self, None)) is not None:
            timer.cancel()

    def _give_up(self) -> None:
        self._done()
        self.transport.abort()
