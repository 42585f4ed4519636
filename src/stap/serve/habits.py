"""What a history comes to in numbers, kept event by event: how often and how long each app, when, and after which."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stap.errors import BadInput
from stap.serve.models import KINDS, clock
from stap.serve.store import Row

CLOSED, OPENED, NOTIFIED = (KINDS.index(kind) for kind in ("closed", "opened", "notified"))
HOUR = 3_600_000_000  # microseconds
DAYS, HOURS = 7, 24
MOST_PAIRS = 20_000  # of apps that follow each other; beyond, the rarer half is forgotten


class Usage(NamedTuple):
    """An app in front, in microseconds since 1970; without an end where nobody saw one."""

    app: str
    start: int
    end: int | None
    offset: int


def usages(rows: Iterable[Row]) -> Iterator[Usage]:
    """Opens with their closes, in the order of time. What is not closed lasts until the next app, an hour at most."""
    front: Row | None = None
    for row in rows:
        if front is not None and row.kind == OPENED:
            yield Usage(front.app, front.at, min(row.at, front.at + HOUR), front.offset)
        elif front is not None and row.kind == CLOSED and row.app == front.app:
            yield Usage(front.app, front.at, row.at, front.offset)
            front = None
        if row.kind == OPENED:
            front = row
    if front is not None:
        yield Usage(front.app, front.at, None, front.offset)


@dataclass
class Habits:
    """Counts of a history. Adding an event costs the same however long it is."""

    events: int = 0
    times: Counter[str] = field(default_factory=Counter)
    minutes: dict[str, float] = field(default_factory=dict)
    week: list[list[int]] = field(default_factory=lambda: [[0] * HOURS for _ in range(DAYS)])
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    front: Row | None = None
    last: str | None = None  # the app opened last

    def observe(self, row: Row) -> None:
        self.events += 1
        if row.kind == OPENED:
            self._end(row.at, longest=HOUR)
            self._open(row)
        elif row.kind == CLOSED and self.front is not None and row.app == self.front.app:
            self._end(row.at)

    def _open(self, row: Row) -> None:
        when = clock(row.at, row.offset)
        self.times[row.app] += 1
        self.week[when.weekday()][when.hour] += 1
        if self.last is not None:
            self.pairs[self.last, row.app] += 1
            if len(self.pairs) > MOST_PAIRS:
                self.pairs = Counter(dict(self.pairs.most_common(MOST_PAIRS // 2)))
        self.front, self.last = row, row.app

    def _end(self, at: int, longest: int | None = None) -> None:
        if self.front is not None:
            took = at - self.front.at if longest is None else min(at - self.front.at, longest)
            self.minutes[self.front.app] = self.minutes.get(self.front.app, 0.0) + took / 60e6
            self.front = None

    def dumps(self) -> str:
        plain = {**vars(self), "pairs": [[*pair, count] for pair, count in self.pairs.items()]}
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> Habits:
        """What `dumps` wrote; it comes from a disk, where anything may have happened to it."""
        try:
            plain: dict[str, Any] = json.loads(text)
            front = plain["front"]
            return cls(
                events=int(plain["events"]),
                times=Counter(plain["times"]),
                minutes={app: float(minutes) for app, minutes in plain["minutes"].items()},
                week=[[int(plain["week"][day][hour]) for hour in range(HOURS)] for day in range(DAYS)],
                pairs=Counter({(before, app): int(count) for before, app, count in plain["pairs"]}),
                front=None if front is None else Row(*front),
                last=plain["last"],
            )
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise BadInput(
                "snapshot", f"its counts are damaged ({type(error).__name__})", "replay the events"
            ) from None
