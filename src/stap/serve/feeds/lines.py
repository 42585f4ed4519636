"""Standard input: an event a line, as JSON: {"kind": "opened", "app": "Mail", "at": "2026-03-03T08:00:00+01:00"}.

`user` and `id` may be left out. A bad line is named and passed over: whoever writes goes on writing.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from threading import Event
from typing import IO

from pydantic import ValidationError

from stap import terminal
from stap.errors import BadInput, first_line
from stap.serve.feeds.base import Outbox, Send, Streamed, user_named
from stap.serve.feeds.saying import event_id
from stap.serve.models import EventIn

PIECE = 1 << 16
LONGEST_LINE = 1 << 16
MOST_SAID = 20  # bad lines of which a person hears
REMEDY = 'write lines like {"kind": "opened", "app": "Mail", "at": "2026-03-03T08:00:00+01:00"}'


class Lines(Streamed):
    def __init__(self, user: str, stream: IO[bytes] | None = None) -> None:
        super().__init__("stdin")
        self._user, self._said = user, 0
        given = stream or (sys.stdin.buffer if sys.stdin is not None else None)
        if given is None:
            raise BadInput("--feed stdin", "standard input is closed", "feed it")
        self._handle = given.fileno()

    def run(self, send: Send, stop: Event) -> None:
        self.state = "running"
        out, row, rest = Outbox(send), 0, b""
        for piece in self._pieces(stop):
            *lines, rest = (rest + piece).split(b"\n") if piece else (rest, b"")
            rest = rest[: LONGEST_LINE + 1]  # too long already, and it may never end
            events = list[tuple[str, EventIn]]()
            for line in lines:
                row += 1
                if line.strip():
                    events += self._event(row, line)
            self.insist(out, events, stop)
        self.state = "stopped" if stop.is_set() else "finished"

    def _pieces(self, stop: Event) -> Iterator[bytes]:
        """As they come; nothing at the end."""
        while not stop.is_set():
            ready, _, _ = select.select([self._handle], [], [], 0.2)
            if ready:
                piece = os.read(self._handle, PIECE)
                yield piece
                if not piece:
                    return

    def _event(self, row: int, line: bytes) -> Iterator[tuple[str, EventIn]]:
        """One, or none where the line is bad."""
        try:
            if len(line) > LONGEST_LINE:
                raise ValueError(f"more than {LONGEST_LINE >> 10} KB")
            said = json.loads(line)
            if not isinstance(said, dict):
                raise ValueError("no object")
            user = said.pop("user", self._user)
            if not isinstance(user, str) or user_named(user) != user:
                raise ValueError("a user is 1 to 64 letters, digits, dots, dashes or underscores")
            event = EventIn.model_validate({"id": "none", **said})
            if "id" not in said:
                event = event.model_copy(update={"id": event_id(event.kind, event.app, event.at)})
            yield user, event
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            self._say(row, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except (ValueError, RecursionError) as error:
            self._say(row, "no JSON" if isinstance(error, json.JSONDecodeError) else first_line(error))

    def _say(self, row: int, why: str) -> None:
        self._said += 1
        if self._said <= MOST_SAID:
            terminal.note(f"feed stdin: {BadInput('standard input', why, REMEDY, row)}")
