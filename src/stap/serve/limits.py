"""How much and how often: sizes of bodies, requests a second, and how long somebody may take."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from time import monotonic

MOST_BUCKETS = 4096  # users of whom it is remembered how often they ask
STRANGER = "?"  # no name of a user
SMALL, EVENTS, FILES = 64 << 10, 2 << 20, 512 << 20  # bytes


@dataclass
class Bucket:
    """So many at once, and so many a second afterwards."""

    rate: float
    burst: float
    level: float = field(init=False)
    at: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        self.level = self.burst

    def take(self, now: float | None = None) -> bool:
        now = monotonic() if now is None else now
        self.level = min(self.burst, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level < 1:
            return False
        self.level -= 1
        return True


@dataclass
class Limits:
    """Of one server; every user has a bucket, so that nobody's flood stops the others."""

    a_second: float = 200
    at_once: float = 400
    patience: float = 20.0  # seconds for the next piece of a body
    strangers: Bucket = field(default_factory=lambda: Bucket(20 / 60, 20))  # with wrong tokens
    _buckets: OrderedDict[str, Bucket] = field(default_factory=OrderedDict)

    @staticmethod
    def body(path: str) -> int:
        if path.endswith("/imports"):
            return FILES
        return EVENTS if path.endswith("/events") else SMALL

    def may(self, path: str, known: bool = True) -> bool:
        """`known`: with the token. Those without it share a bucket: any page of the web can make a browser ask."""
        parts = path.split("/", 5)
        who = parts[4] if path.startswith("/api/v1/users/") and len(parts) > 4 else ""
        who = who if known else STRANGER
        bucket = self._buckets.get(who)
        if bucket is None:
            bucket = self._buckets[who] = Bucket(self.a_second, self.at_once)
            while len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(who)
        return bucket.take()
