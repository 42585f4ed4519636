"""How far a feed has read each of its logs, so that it goes on there after a restart; and what was deleted since.

Deleted stays deleted: what happened before a deletion is still in the log, and is not taken from there again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock

from stap import terminal
from stap.files import read_bytes, replacing

FOLDER = "feeds"  # in the data folder
LARGEST = 16 << 20  # bytes
EVERYBODY = ""
BEGINNING = datetime.min.replace(tzinfo=UTC)


class Marks:
    """In a file, where one is named. Any thread may call."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._lock = path, Lock()
        self._read: dict[str, str] = {}  # how far, by log
        self._deleted: dict[str, str] = {}  # when, by user
        if path is not None and path.exists():
            try:
                found = json.loads(read_bytes(path, LARGEST))
                self._read, self._deleted = _texts(found["read"]), _texts(found["deleted"])
            except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
                terminal.note(f"note: {path} is damaged: logs are read from their beginnings, and nothing counts twice")

    def __getitem__(self, key: str) -> str | None:
        return self._read.get(key)

    def put(self, key: str, mark: str, keep: bool = True) -> None:
        """In memory, and on the disk if it is to be kept by then."""
        with self._lock:
            self._read[key] = mark
            if keep:
                self._write()

    def time(self, key: str) -> datetime | None:
        """Up to when a log has been read; where that is not known, from when on it may be."""
        return _time(self._read.get(key)) or _time(self._deleted.get(EVERYBODY))

    def deleted(self, user: str, app: str) -> datetime:
        """What a user did before this, or did in this app, is gone, and stays so."""
        if not self._deleted:
            return BEGINNING
        return max(_time(self._deleted.get(whose)) or BEGINNING for whose in (EVERYBODY, user, _whose(user, app)))

    def forget(self, user: str, now: datetime, app: str | None = None) -> None:
        """A user was deleted, or one of their apps, or everybody; then no name of a log stays either."""
        with self._lock:
            if user == EVERYBODY:
                self._read, self._deleted = {}, {}
            elif app is None:
                self._deleted = {key: when for key, when in self._deleted.items() if not key.startswith(_whose(user))}
            self._deleted[user if app is None else _whose(user, app)] = now.isoformat()
            self._write()

    def _write(self) -> None:
        if self.path is not None:
            with replacing(self.path, private=True) as draft:
                draft.write_text(json.dumps({"read": self._read, "deleted": self._deleted}))


def _whose(user: str, app: str | None = None) -> str:
    """An app that was forgotten is not named: only who has the name can tell that it was this one."""
    return f"{user}/" + ("" if app is None else sha256(app.encode(errors="surrogatepass")).hexdigest()[:32])


def _texts(found: Mapping[object, object]) -> dict[str, str]:
    return {str(key): str(value) for key, value in found.items()}


def _time(text: str | None) -> datetime | None:
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found
