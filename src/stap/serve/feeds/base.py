"""What all feeds share: how they look and wait, and what they have sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from threading import Event
from zoneinfo import ZoneInfo

from stap import terminal
from stap.errors import BadInput, first_line
from stap.serve.feeds.marks import Marks
from stap.serve.models import MOST_EVENTS, EventIn
from stap.sources.reading.clock import Zone

Send = Callable[[str, list[EventIn]], None]  # durable when it returns, and idempotent by id
REMEMBERED = 1 << 16  # ids sent, so that they are not sent again and again
TROUBLE = ("waiting", "unexpected")
LONGEST_WAIT = 60.0  # seconds between two looks at what is away


class Outbox:
    """Hands on what was not handed on before. After a failure nothing of that piece counts as sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sent: dict[tuple[str, str], None] = {}
        self.last: datetime | None = None

    def deliver(self, user: str, events: Iterable[EventIn]) -> int:
        """How many there were to send."""
        fresh = [each for each in events if (user, each.id) not in self._sent]
        for first in range(0, len(fresh), MOST_EVENTS):
            part = fresh[first : first + MOST_EVENTS]
            self._send(user, part)
            self._sent.update(((user, each.id), None) for each in part)
            self.last = max([*(each.at for each in part), *([self.last] if self.last else [])])
        for old in list(self._sent)[: max(0, len(self._sent) - REMEMBERED)]:
            del self._sent[old]
        return len(fresh)


class Named:
    """A feed's name, and how it is."""

    def __init__(self, name: str) -> None:
        self.name, self.state = name, "starting"
        self.now: Callable[[], datetime] = partial(datetime.now, UTC)
        self.last: datetime | None = None

    def becomes(self, state: str) -> None:
        """A person hears of a change for the worse, and when it is over."""
        if state != self.state and (state.startswith(TROUBLE) or self.state.startswith(TROUBLE)):
            terminal.note(f"feed {self.name}: {state}")
        self.state = state


class Streamed(Named):
    """What comes once and cannot be asked for again: it is held until it is taken."""

    def insist(self, out: Outbox, events: Sequence[tuple[str, EventIn]], stop: Event) -> None:
        """(user, event) one after the other, again and again while the server cannot."""
        wait = 1.0
        while not stop.is_set():
            try:
                for user in dict.fromkeys(user for user, _ in events):
                    out.deliver(user, (event for whose, event in events if whose == user))
                self.becomes("running")
                self.last = out.last
                return
            except (BadInput, OSError) as error:
                self.becomes(f"waiting: {first_line(error)}")
                stop.wait(wait)
                wait = min(LONGEST_WAIT, 2 * wait)


class Polled(Named):
    """A place that is looked at again and again, and less often while it is away."""

    def __init__(self, name: str, every: float, marks: Marks) -> None:
        super().__init__(name)
        self._every, self.marks = every, marks

    def look(self, out: Outbox, stop: Event) -> None:
        """Send what is new. Whatever is raised, the next look sends it again."""
        raise NotImplementedError

    def run(self, send: Send, stop: Event) -> None:
        out, wait = Outbox(send), self._every
        while not stop.is_set():
            try:
                self.look(out, stop)
                self.becomes("running")
                wait = self._every
            except Exception as error:  # a feed that ended would be missed by nobody until its predictions are old
                known = isinstance(error, BadInput | OSError)
                self.becomes(f"waiting: {first_line(error)}" if known else f"unexpected {type(error).__name__}")
                wait = min(LONGEST_WAIT, 2 * wait)
            self.last = out.last
            stop.wait(wait)
        self.state = "stopped"


def user_named(text: str) -> str:
    """A name that a user can have: this one, or one near to it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:64] or "someone"


def zone_now(asked: str | None) -> ZoneInfo:
    """The zone asked for, or this machine's as it is now: a laptop travels while the server runs."""
    return ZoneInfo(Zone(asked).name)
