"""Everything that is kept, in one SQLite file: people, their apps, their events, and where their snapshots are.

A history is a person's events in the order of their times; of two at once the one that arrived first. Whatever is
kept besides is made from it, so that nothing depends on the order in which feeds deliver.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from threading import Condition
from typing import Any, NamedTuple

from stap.errors import BadInput
from stap.files import PRIVATE
from stap.serve.models import KINDS, EventIn, clock, micros, offset_of

FILE = "stap.db"
DAMAGED = f"{FILE}.damaged-"  # what `salvage` leaves beside it
VERSION = 1
MOST_APPS = 10_000  # of one person
MOST_USERS = 1_000
CHECKPOINTS = 3  # that are tried, each until SQLite's own patience ends
AGAIN = 0.05  # seconds
PART = 2_000  # rows that are read at once
SCHEMA = """
CREATE TABLE users (user INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL DEFAULT 0,
    events INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE apps (app INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    name TEXT NOT NULL, hidden INTEGER NOT NULL DEFAULT 0, UNIQUE (user, name)) STRICT;
CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    id TEXT NOT NULL, kind INTEGER NOT NULL, app INTEGER NOT NULL REFERENCES apps ON DELETE CASCADE,
    at INTEGER NOT NULL, offset INTEGER NOT NULL, UNIQUE (user, id)) STRICT;
CREATE INDEX by_time ON events (user, at, seq);
CREATE INDEX by_app ON events (app);
CREATE TABLE snapshots (user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE, at INTEGER NOT NULL,
    offset INTEGER NOT NULL, seq INTEGER NOT NULL, model TEXT NOT NULL, file TEXT NOT NULL, habits TEXT NOT NULL,
    PRIMARY KEY (user, seq, model)) STRICT;
CREATE TABLE hits (user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE, day TEXT NOT NULL, counts TEXT NOT NULL,
    PRIMARY KEY (user, day)) STRICT;
"""
SETTINGS = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON")
COLUMNS = "SELECT seq, kind, name, at, offset FROM events JOIN apps USING (app)"
ROWS = f"{COLUMNS} WHERE events.user = ?"


INSERT = """INSERT INTO events (user, id, kind, at, offset, app)
    SELECT ?1, ?2, ?3, ?4, ?5, app FROM apps WHERE user = ?1 AND name = ?6 ON CONFLICT DO NOTHING RETURNING seq"""
ENDING = ("the server is ending", "ask again when it runs")
SALVAGE = "stap serve --salvage keeps what can be read, and the damaged file beside it"


class Row(NamedTuple):
    """An event as it is kept."""

    seq: int  # arrived as the so-manieth
    kind: int  # a place in KINDS
    app: str
    at: int  # microseconds since 1970
    offset: int  # seconds east of Greenwich


class Person(NamedTuple):
    """A line of the table of users."""

    user: int
    name: str
    events: int
    apps: int
    first: int | None
    last: int | None


class Store:
    """Reading, from any thread. Writing goes through the one connection that `writing` opens."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._free, self._busy = list[sqlite3.Connection](), set[sqlite3.Connection]()  # that read
        self._changed, self._closed = Condition(), False

    def writing(self) -> sqlite3.Connection:
        """A connection that may write; the tables are made where there are none, and looked through where there are."""
        with suppress(OSError):  # SQLite gives its other files the mode of this one, whatever the folder's is
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE))
            os.chmod(self.path, PRIVATE)
        db = self._connect()
        try:
            version, damage = (
                db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("user_version", "quick_check(1)")
            )
        except sqlite3.DatabaseError as error:
            version, damage = 0, str(error)
        if damage != "ok":
            db.close()
            raise BadInput(str(self.path), "a page of it is damaged", SALVAGE)
        if version not in (0, VERSION):
            raise BadInput(str(self.path), f"written by another version ({version})", "use the stap that wrote it")
        db.execute("PRAGMA wal_autocheckpoint = 0")  # the writer sees to that, where nobody waits
        if not version:
            db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        return db

    def read(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of an answer. There are as many connections as ever read at once: threads come and go."""
        with self._changed:
            if self._closed:
                raise BadInput(str(self.path), *ENDING)
            db = self._free.pop() if self._free else self._connect(query_only=True)
            self._busy.add(db)
        try:
            return db.execute(question, values).fetchall()
        except sqlite3.OperationalError:
            if self._closed:
                raise BadInput(str(self.path), *ENDING) from None
            raise
        finally:
            with self._changed:
                self._busy.discard(db)
                self._free.append(db)
                self._changed.notify_all()

    def _connect(self, query_only: bool = False) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            for setting in (*SETTINGS, f"query_only = {int(query_only)}"):
                db.execute(f"PRAGMA {setting}")
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise BadInput(str(self.path), "damaged from its first page on", SALVAGE) from None
            raise BadInput(str(self.path), f"cannot be opened ({error})", "check the place and its disk") from None
        return db

    def close(self) -> None:
        """Who still reads is broken off and waited for, who asks later is refused; one file is left.

        SQLite frees what a thread is reading with, if another one closes it.
        """
        with self._changed:
            self._closed = True
            while self._busy:  # again and again: what has not begun yet is not broken off
                for db in self._busy:
                    db.interrupt()
                self._changed.wait(AGAIN)
            while self._free:
                self._free.pop().close()

    def checkpoint(self, whole: bool = True) -> None:
        """The log of changes goes into the file: all of it, so that nothing deleted stays; or what needs no waiting."""
        with closing(self._connect()) as db:
            for _ in range(CHECKPOINTS if whole else 1):
                busy, *_ = db.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if whole else 'PASSIVE'})").fetchone()
                if not busy:
                    break

    def people(self, only: str | None = None) -> list[Person]:
        return [
            Person(*row)
            for row in self.read(
                "SELECT user, name, events, (SELECT count(*) FROM apps WHERE apps.user = users.user),"
                " (SELECT min(at) FROM events WHERE events.user = users.user),"
                " (SELECT max(at) FROM events WHERE events.user = users.user)"
                " FROM users WHERE ?1 IS NULL OR name = ?1 ORDER BY name",
                only,
            )
        ]

    def after(self, user: int, at: int, seq: int, upto: int) -> Iterator[Row]:
        """The history from a place on: of what had arrived `upto` a number, whatever comes meanwhile."""
        return chain.from_iterable(self.parts_after(user, at, seq, upto))

    def parts_after(self, user: int, at: int, seq: int, upto: int) -> Iterator[list[Row]]:
        """The same, part by part."""
        while part := self._part(user, at, seq, upto):
            yield part
            at, seq = part[-1].at, part[-1].seq

    def _part(self, user: int, at: int, seq: int, upto: int) -> list[Row]:
        where = "AND (at, seq) > (?, ?) AND seq <= ? ORDER BY at, seq LIMIT ?"
        return [Row(*row) for row in self.read(f"{ROWS} {where}", user, at, seq, upto, PART)]

    def since(self, user: int, seq: int) -> list[Row]:
        """What has arrived after a number, in the order of time."""
        where = "WHERE seq > ? AND +events.user = ? ORDER BY at, seq"
        return [Row(*row) for row in self.read(f"{COLUMNS} {where}", seq, user)]

    def count_after(self, user: int, at: int, seq: int) -> int:
        where = "user = ? AND (at, seq) > (?, ?)"
        return int(self.read(f"SELECT count(*) FROM events WHERE {where}", user, at, seq)[0][0])

    def around(self, user: int, low: int, high: int, limit: int) -> list[Row]:
        """The latest opens and closes of a time, in order; and one open and one close after it, which may end them."""
        inside = f"{ROWS} AND at >= ? AND at < ? AND kind < 2 ORDER BY at DESC, seq DESC LIMIT ?"
        beyond = f"{ROWS} AND at >= ? AND kind < 2 ORDER BY at, seq LIMIT 2"
        found = self.read(inside, user, low, high, limit)[::-1]
        return [Row(*row) for row in [*found, *self.read(beyond, user, high)]]

    def everything(self, user: int) -> Iterator[tuple[str, int, str, int, int]]:
        """(id, kind, app, at, offset) of all events, as they arrived."""
        seq = 0
        while part := self.read(
            "SELECT seq, id, kind, name, at, offset FROM events JOIN apps USING (app)"
            " WHERE events.user = ? AND seq > ? ORDER BY seq LIMIT ?",
            user,
            seq,
            PART,
        ):
            yield from (row[1:] for row in part)
            seq = part[-1][0]

    def newest(self, user: int) -> int:
        """The number of the event that arrived last."""
        return self.read("SELECT max(seq) FROM events WHERE user = ?", user)[0][0] or 0

    def epoch(self, user: int) -> int:
        """How often events of a user have left or come in bulk: what was made before that is no longer true."""
        found = self.read("SELECT epoch FROM users WHERE user = ?", user)
        return int(found[0][0]) if found else -1

    def hidden(self, user: int) -> list[str]:
        return [name for (name,) in self.read("SELECT name FROM apps WHERE user = ? AND hidden ORDER BY name", user)]


def user_of(db: sqlite3.Connection, name: str) -> int:
    """The user's number; somebody new gets one."""
    found = db.execute("SELECT user FROM users WHERE name = ?", (name,)).fetchone()
    if found is None:
        if db.execute("SELECT count(*) FROM users").fetchone()[0] >= MOST_USERS:
            raise BadInput("user", f"there are {MOST_USERS} already", "delete some")
        found = db.execute("INSERT INTO users (name) VALUES (?) RETURNING user", (name,)).fetchone()
    return int(found[0])


def append(db: sqlite3.Connection, user: int, events: Iterable[EventIn]) -> list[Row]:
    """Keep the events that were not there; gives those. What one of them makes untrue goes with it."""
    kept: list[Row] = []
    for event in sorted(events, key=lambda event: event.at):
        at, offset, kind = micros(event.at), offset_of(event.at), KINDS.index(event.kind)
        values = (user, event.id, kind, at, offset, event.app)
        found = db.execute(INSERT, values).fetchone()
        if found is None and _new_app(db, user, event.app):
            found = db.execute(INSERT, values).fetchone()
        if found is not None:
            kept.append(Row(int(found[0]), kind, event.app, at, offset))
    if kept:
        db.execute("UPDATE users SET events = events + ? WHERE user = ?", (len(kept), user))
        db.execute("DELETE FROM snapshots WHERE user = ? AND at > ?", (user, kept[0].at))
        day = clock(kept[0].at, kept[0].offset).date().isoformat()
        db.execute("DELETE FROM hits WHERE user = ? AND day > ?", (user, day))
    return kept


def _new_app(db: sqlite3.Connection, user: int, name: str) -> bool:
    """Whether the app was not known; then it is now."""
    if db.execute("SELECT 1 FROM apps WHERE user = ? AND name = ?", (user, name)).fetchone():
        return False
    if db.execute("SELECT count(*) FROM apps WHERE user = ?", (user,)).fetchone()[0] >= MOST_APPS:
        raise BadInput("app", f"there are {MOST_APPS} already", "forget some")
    db.execute("INSERT INTO apps (user, name) VALUES (?, ?)", (user, name))
    return True


def forget(db: sqlite3.Connection, user: int, app: str) -> int:
    """The app and all its events leave; what was made from them is made anew. Gives how many events left."""
    gone = db.execute(
        "DELETE FROM events WHERE app = (SELECT app FROM apps WHERE user = ? AND name = ?)", (user, app)
    ).rowcount
    db.execute("DELETE FROM apps WHERE user = ? AND name = ?", (user, app))
    db.execute("UPDATE users SET events = events - ? WHERE user = ?", (gone, user))
    for table in ("snapshots", "hits"):
        db.execute(f"DELETE FROM {table} WHERE user = ?", (user,))
    outdate(db, user)
    return gone


def outdate(db: sqlite3.Connection, user: int) -> None:
    """What is in memory now is no longer the history's: no snapshot of it is kept."""
    db.execute("UPDATE users SET epoch = epoch + 1 WHERE user = ?", (user,))
