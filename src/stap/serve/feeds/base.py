"""What all feeds share: how they look and wait, what they have sent, and where they go on after a restart."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from zoneinfo import ZoneInfo

from stap import terminal
from stap.errors import BadInput, first_line
from stap.files import read_bytes, replacing
from stap.serve.feeds.saying import Told
from stap.serve.models import MOST_EVENTS, EventIn
from stap.sources.reading.clock import Zone

Send = Callable[[str, list[EventIn]], None]  # durable when it returns, and idempotent by id
LATE = timedelta(minutes=10)  # a logger may write down so much later what came before something else
SELDOM = timedelta(minutes=5)  # how far a mark moves in memory before it is written, where nothing was sent
REMEMBERED = 1 << 16  # ids sent, so that they are not sent again and again
TROUBLE = ("waiting", "unexpected")
LONGEST_WAIT = 60.0  # seconds between two looks at what is away
LARGEST_MARKS = 16 << 20  # bytes


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

    def __init__(self, name: str, every: float) -> None:
        super().__init__(name)
        self._every = every

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


class Marks:
    """How far each log has been read, in a file where one is named."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._marks: dict[str, str] = {}
        if path is not None and path.exists():
            try:
                found = json.loads(read_bytes(path, LARGEST_MARKS))
                self._marks = {str(key): str(value) for key, value in found.items()}
            except (ValueError, AttributeError, RecursionError):
                terminal.note(f"note: {path} is damaged: logs are read from their beginnings, and nothing counts twice")

    def __getitem__(self, key: str) -> str | None:
        return self._marks.get(key)

    def put(self, key: str, mark: str, keep: bool = True) -> None:
        """In memory, and on the disk if it is to be kept by then."""
        self._marks[key] = mark
        if keep and self._path is not None:
            with replacing(self._path, private=True) as draft:
                draft.write_text(json.dumps(self._marks))

    def time(self, key: str) -> datetime | None:
        try:
            return datetime.fromisoformat(self._marks[key])
        except (KeyError, ValueError):
            return None


class Followed:
    """A log that goes on where it was left: what began long before that is known, and is not told again."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._kept: dict[str, datetime] = {}  # what the disk knows of

    def since(self, key: str, now: datetime) -> datetime | None:
        """Up to when it has been read. A clock that was put back begins anew from what it shows."""
        mark = self._marks.time(key)
        return None if mark is None or mark.tzinfo is None else min(mark, now)

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


def user_named(text: str) -> str:
    """A name that a user can have: this one, or one near to it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:64] or "someone"


def zone_now(asked: str | None) -> ZoneInfo:
    """The zone asked for, or this machine's as it is now: a laptop travels while the server runs."""
    return ZoneInfo(Zone(asked).name)
