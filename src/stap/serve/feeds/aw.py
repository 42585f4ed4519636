"""ActivityWatch, live: asks a running aw-server for what its window and Android watchers wrote since the last look.

Hosts are followed each on its own, with their own AFK watcher. The windows of this machine's host are the person's,
other hosts are users of their own. A first look goes back a year, a week at a time.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from socket import gethostname
from threading import Event
from typing import Any
from urllib.parse import quote, urlencode

from stap.errors import BadInput
from stap.serve.feeds.base import Outbox, Polled, user_named, zone_now
from stap.serve.feeds.following import LATE, Followed
from stap.serve.feeds.marks import Marks
from stap.serve.feeds.saying import AWAY, Clock, Told, told
from stap.serve.wire import Place
from stap.sources import Options, read_piece

URL = "http://127.0.0.1:5600"
EVERY = 5.0  # seconds
HISTORY = timedelta(days=366)
PIECE = timedelta(days=7)
NOTHING = b"[]\n"  # an answer without events
BEFORE = LATE + 2 * AWAY  # read again, and more: aw-server cuts off what began earlier, so first starts are not true
TYPES = ("currentwindow", "afkstatus")
MOST_BUCKETS = 1_000

Buckets = dict[str, str]  # id -> type


class ActivityWatch(Polled):
    def __init__(self, user: str, marks: Marks, url: str = URL, zone: str | None = None, every: float = EVERY) -> None:
        super().__init__("aw", every, marks)
        self._place, self._user, self._zone = Place.of(url), user, zone
        self._followed = Followed(marks)
        zone_now(zone)

    def look(self, out: Outbox, stop: Event) -> None:
        trouble = None
        for host, buckets in self._hosts().items():
            try:
                self._catch_up(out, stop, host, buckets)
            except BadInput as error:  # which is no reason to leave the other hosts waiting
                trouble = error
        if trouble is not None:
            raise trouble

    def _hosts(self) -> dict[str, Buckets]:
        """Those with a watcher of windows, and their buckets."""
        found = self._place.get_json("/api/0/buckets/")
        if not isinstance(found, dict) or len(found) > MOST_BUCKETS:
            raise BadInput(str(self._place), "no aw-server, by its answer", "check the address")
        hosts: dict[str, Buckets] = {}
        for name, bucket in found.items():
            if isinstance(bucket, dict) and bucket.get("type") in TYPES:
                hosts.setdefault(str(bucket.get("hostname")), {})[name] = bucket["type"]
        return {host: buckets for host, buckets in hosts.items() if "currentwindow" in buckets.values()}

    def _catch_up(self, out: Outbox, stop: Event, host: str, buckets: Buckets) -> None:
        """Piece by piece until now; the last piece has no end, so that a watcher's clock may be ahead of ours."""
        while not stop.is_set():
            now = self.now()
            since = self._followed.since(host, now) or now - HISTORY
            until = since + PIECE
            if until >= now:
                self._followed.tell(out, host, self._read(host, buckets, since, None, now), now)
                return
            self.becomes(f"catching up: {since:%Y-%m-%d}")
            self._followed.tell(out, host, self._read(host, buckets, since, until, until), now, read_to=until)
            self.last = out.last

    def _read(self, host: str, buckets: Buckets, since: datetime, until: datetime | None, now: datetime) -> Told:
        user = self._user if host.lower() in (gethostname().lower(), "unknown", "none", "") else user_named(host)
        piece = self._piece(buckets, since - BEFORE, until)
        if piece is None:
            return Told(user, [], None)
        options = Options(zone="UTC", skip_bad_rows=True, as_user=user, until=now.replace(tzinfo=None))
        read = read_piece(piece, str(self._place), "activitywatch", options)
        return next(told(read, Clock(UTC, zone_now(self._zone)), now), Told(user, [], None))

    def _piece(self, buckets: Buckets, since: datetime, until: datetime | None) -> bytes | None:
        """What aw-server itself would have exported of a host; None where no window was seen."""
        span = {"start": since.isoformat()} | ({"end": until.isoformat()} if until else {})
        parts, seen = [], False
        for place, (name, kind) in enumerate(buckets.items()):
            path = f"/api/0/buckets/{quote(name, safe='')}/events?{urlencode(span)}"
            about: dict[str, Any] = {"id": name, "type": kind, "hostname": "here"}
            events = self._place.ask("GET", path, {})
            seen = seen or (kind == "currentwindow" and len(events) > len(NOTHING))
            parts.append(b'"%d": %s, "events": %s}' % (place, json.dumps(about).encode()[:-1], events))
        return b'{"buckets": {%s}}' % b", ".join(parts) if seen else None
