"""A running `stap serve` from Python, with the standard library alone.

    client = Client()
    client.opened("Mail")
    client.rank(5)

Without an address it is the server of this machine's data folder, whose token lies there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote, urlencode

from stap.serve.places import address_of, data_folder, secret_of
from stap.serve.wire import Busy, Exchange, Place, sent_events

MOST_EVENTS = 1000  # of one request
PATIENCE = 5.0  # seconds that a server may be busy with a long history
Event = Mapping[str, str]  # kind, app, at and perhaps id


class Client:
    """One user's side of a server. Any number of threads may share one."""

    def __init__(
        self, user: str = "me", url: str | None = None, token: str | None = None, data: Path | str | None = None
    ) -> None:
        folder = data_folder() if data is None else Path(data)
        self._headers = {"Authorization": f"Bearer {token or secret_of(folder)}"}
        self._place = Place.of(url or address_of(folder))
        self._user = f"/api/v1/users/{quote(user, safe='')}"

    def opened(self, app: str, at: datetime | None = None) -> None:
        self.send([_event("opened", app, at)])

    def closed(self, app: str, at: datetime | None = None) -> None:
        self.send([_event("closed", app, at)])

    def notified(self, app: str, at: datetime | None = None) -> None:
        self.send([_event("notified", app, at)])

    def send(self, events: Iterable[Event]) -> int:
        """Many at once; each may have an `id`, by which it counts once however often it is sent. Gives the new ones."""
        rows = [{"id": token_hex(16), **event} for event in events]
        new = 0
        for first in range(0, len(rows), MOST_EVENTS):
            new += int(self._ask("POST", "/events", {"events": rows[first : first + MOST_EVENTS]})["accepted"])
        return new

    def rank(
        self,
        k: int = 5,
        at: datetime | None = None,
        among: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[str, float]]:
        """The k likeliest apps with their probabilities, best first, now or at another time."""
        asked: dict[str, Any] = {"k": k, "reasons": "false", "among": list(among or ()), "without": list(without)}
        if at is not None:
            asked["at"] = _iso(at)
        found = self._ask("GET", f"/ranking?{urlencode(asked, doseq=True)}")["ranking"]
        return [(str(each["app"]), float(each["probability"])) for each in found]

    def why(self, app: str, at: datetime | None = None) -> list[str]:
        """What speaks for an app, in sentences."""
        asked = {"app": app, **({} if at is None else {"at": _iso(at)})}
        return [str(each["sentence"]) for each in self._ask("GET", f"/why?{urlencode(asked)}")["reasons"]]

    def live(self, k: int = 5) -> Generator[list[tuple[str, float]], None, None]:
        """The ranking now, and again after every change, until the server goes away."""
        with Exchange(self._place, "GET", f"{self._user}/live?k={k}", self._headers) as answer:
            for event, data in sent_events(answer):
                if event == "ranking":
                    yield [(str(each["app"]), float(each["probability"])) for each in json.loads(data)["ranking"]]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        data = None if body is None else json.dumps(body).encode()
        until = monotonic() + PATIENCE
        while True:
            try:
                return json.loads(self._place.ask(method, self._user + path, headers, data))
            except Busy:
                if monotonic() > until:
                    raise
                sleep(0.2)


def _event(kind: str, app: str, at: datetime | None) -> Event:
    return {"kind": kind, "app": app, "at": _iso(at or datetime.now())}


def _iso(at: datetime) -> str:
    """With the offset of this machine's zone where it has none."""
    return (at.astimezone() if at.utcoffset() is None else at).isoformat()
