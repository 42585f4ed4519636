"""A damaged store: what can still be read becomes a new one, and the damaged file stays beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from stap.errors import BadInput
from stap.serve.models import KINDS
from stap.serve.store import DAMAGED, FILE, Store

STEP = 256  # rows read at once where nothing is wrong


def salvage(folder: Path) -> tuple[int, Path]:
    """How many events were saved, and where the damaged file is now."""
    if not (folder / FILE).exists():
        raise BadInput(str(folder), "no store is here", "name its folder with --data")
    damaged = folder / f"{DAMAGED}{token_hex(4)}"
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            (folder / f"{FILE}{ending}").rename(f"{damaged}{ending}")
    with closing(sqlite3.connect(damaged)) as old, closing(Store(folder).writing()) as new:
        users = dict(_rows(old, "users", "user", "name"))
        apps = {
            app: (user, name, hidden) for app, user, name, hidden in _rows(old, "apps", "app", "user, name, hidden")
        }
        new.execute("BEGIN")
        saved = sum(_save(new, users, apps, row[1:]) for row in _rows(old, "events", "seq", EVENT))
        new.execute("UPDATE users SET events = (SELECT count(*) FROM events WHERE events.user = users.user)")
        new.execute("COMMIT")
    return saved, damaged


EVENT = "user, id, kind, app, at, offset"


def _save(new: sqlite3.Connection, users: dict[int, str], apps: dict[int, Any], row: tuple[Any, ...]) -> bool:
    """Keep an event whose parts are all there and in range."""
    user, _, kind, app, *_ = row
    if kind not in range(len(KINDS)) or apps.get(app, (None,))[0] != user or user not in users:
        return False
    try:
        new.execute("INSERT OR IGNORE INTO users (user, name) VALUES (?, ?)", (user, users[user]))
        new.execute("INSERT OR IGNORE INTO apps (app, user, name, hidden) VALUES (?, ?, ?, ?)", (app, *apps[app]))
        kept = new.execute(f"INSERT OR IGNORE INTO events ({EVENT}) VALUES (?, ?, ?, ?, ?, ?)", row).rowcount
    except sqlite3.IntegrityError:
        return False
    return kept > 0


def _rows(old: sqlite3.Connection, table: str, key: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """All rows that can be read, in the order of their numbers; around a damaged page one by one."""
    last = _last(old, table, key)
    place = 0
    while place < last:
        try:
            part = old.execute(
                f"SELECT {key}, {columns} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT {STEP}", (place,)
            )
            found = part.fetchall()
            yield from found
            place = found[-1][0] if found else last
        except sqlite3.DatabaseError:
            for number in range(place + 1, place + STEP + 1):
                with suppress(sqlite3.DatabaseError):
                    yield from old.execute(
                        f"SELECT {key}, {columns} FROM {table} WHERE {key} = ?", (number,)
                    ).fetchall()
            place += STEP


def _last(old: sqlite3.Connection, table: str, key: str) -> int:
    """The largest number a table has given out; it is written in two places."""
    for question in (f"SELECT max({key}) FROM {table}", f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'"):
        with suppress(sqlite3.DatabaseError):
            found = old.execute(question).fetchone()
            if found and found[0]:
                return int(found[0])
    return 0
