"""Sessions on the disk: a file each, and a line in the store that says of which history and which model.

The line is written after the file and goes in the very transaction that makes it untrue, so a snapshot that has one is
whole and true; a file without one is left by a crash and is removed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from stap.predictor import Predictor
from stap.serve.store import Store
from stap.serve.writer import Unwritten, Writer

FOLDER = "sessions"
KEPT = 2  # of one person and model: the older one is for what arrives late
COLUMNS = "user, at, offset, seq, model, file, habits"


class Snapshot(NamedTuple):
    """A line of the table of snapshots."""

    user: int
    at: int  # the time of the last event in it
    offset: int
    seq: int  # what arrived up to here is in it
    model: str
    file: str
    habits: str


class Snapshots:
    """The folder of snapshots beside the store."""

    def __init__(self, store: Store, writer: Writer, models: Sequence[str]) -> None:
        """Those of other models than these are of no more use."""
        self._store, self._writer = store, writer
        self._lock = Lock()  # between a file and its line nobody tidies
        self._folder = store.path.parent / FOLDER
        self._folder.mkdir(mode=0o700, exist_ok=True)
        others = f"DELETE FROM snapshots WHERE model NOT IN ({', '.join('?' * len(models))})"
        with suppress(Unwritten):  # a full or read-only disk can still be read
            writer.submit(lambda db: db.execute(others, models)).result()
        self.tidy()

    def path(self, snapshot: Snapshot) -> Path:
        return self._folder / snapshot.file

    def newest(self, user: int, model: str) -> Snapshot | None:
        where = "WHERE user = ? AND model = ? ORDER BY at DESC, seq DESC LIMIT 1"
        found = self._store.read(f"SELECT {COLUMNS} FROM snapshots {where}", user, model)
        return Snapshot(*found[0]) if found else None

    def keep(self, predictor: Predictor, snapshot: Snapshot, epoch: int) -> None:
        """On the disk when this returns, unless the history has changed meanwhile before its last event."""
        with self._lock:
            predictor.save(self.path(snapshot))
            self._writer.submit(lambda db: _record(db, snapshot, epoch), self._remove).result()

    def discard(self, snapshot: Snapshot) -> None:
        """A damaged one."""
        gone = "DELETE FROM snapshots WHERE user = ? AND seq = ? AND model = ?"
        self._writer.submit(lambda db: db.execute(gone, (snapshot.user, snapshot.seq, snapshot.model))).result()
        self._remove([snapshot.file])

    def tidy(self) -> None:
        """Remove the files that no line names."""
        with self._lock:
            named = {file for (file,) in self._store.read("SELECT file FROM snapshots")}
            self._remove([path.name for path in self._folder.iterdir() if path.name not in named])

    def _remove(self, files: list[str]) -> None:
        for file in files:
            with suppress(OSError):
                (self._folder / file).unlink(missing_ok=True)


def _record(db: sqlite3.Connection, snapshot: Snapshot, epoch: int) -> list[str]:
    """Writes the line, where the snapshot is still true; gives the files that are of no more use."""
    user, at, seq = snapshot.user, snapshot.at, snapshot.seq
    same = db.execute("SELECT 1 FROM users WHERE user = ? AND epoch = ?", (user, epoch)).fetchone()
    late = db.execute(
        "SELECT 1 FROM events WHERE seq > ? AND +user = ? AND +at < ? LIMIT 1", (seq, user, at)
    ).fetchone()
    if not same or late:
        return [snapshot.file]
    db.execute(f"INSERT OR REPLACE INTO snapshots ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", snapshot)
    old = db.execute(
        "DELETE FROM snapshots WHERE user = ?1 AND model = ?2 AND seq NOT IN (SELECT seq FROM snapshots"
        " WHERE user = ?1 AND model = ?2 ORDER BY at DESC, seq DESC LIMIT ?3) RETURNING file",
        (user, snapshot.model, KEPT),
    )
    return [file for (file,) in old.fetchall()]
