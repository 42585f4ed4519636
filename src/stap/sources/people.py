"""Who is who when several logs are given: the same name in two of them is two people, unless something says it is one.

A name is one person within a log; in all logs of a data set that lie in one folder, as UbiqLog's daily files do; and
under one stem, as in my.csv and my.parquet. Elsewhere the same name is somebody else, and both get in front of it where
they come from: the log's stem (of a data set, its format), or the nearest folder above that differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from stap.errors import BadInput, short
from stap.sources.reading.base import Log, Options, bare_name
from stap.sources.reading.text import is_text
from stap.usage import NOTIFICATIONS, SCHEMA, apps_only, some

Home = tuple[str, ...]  # within which a name is one person: a stem or a format, then the folders above, nearest first


@dataclass(frozen=True)
class Part:
    """One log's records, launchers and system UI out."""

    log: Log
    format: str
    home: Home
    table: pl.DataFrame  # columns of the usage table, and `between` where the log shows what lies between apps
    notifications: pl.DataFrame | None
    dropped: int  # launcher and system rows

    @property
    def records(self) -> int:
        """Of apps that a person chose."""
        return len(apps_only(self.table))

    @cached_property
    def users(self) -> set[str]:
        return set(apps_only(self.table)["user"].unique())


class Gathered(NamedTuple):
    """All logs together, everybody under a name of their own."""

    records: pl.DataFrame
    notifications: pl.DataFrame
    notes: list[str]  # for a person


def trail(path: Path) -> Home:
    """The bare names of a file or folder and of all folders above."""
    return tuple(bare_name(place) for place in (path, *path.parents))


def gather(parts: Sequence[Part], options: Options) -> Gathered:
    """All records in one table, and all notifications in another."""
    names, notes = [pl.col("user")] * len(parts), list[str]()
    if options.as_user is not None:
        names = _join(parts, options.as_user)
    elif not options.same_users:
        names, notes = _tell_apart(parts)
    records, twice = _once([part.table.with_columns(user) for part, user in zip(parts, names, strict=True)], SCHEMA)
    if twice:
        notes.append(f"{twice} records stood in more than one log and count once.")
    posted = [
        part.notifications.with_columns(user)
        for part, user in zip(parts, names, strict=True)
        if part.notifications is not None
    ]
    notifications, _ = _once([pl.DataFrame(schema=NOTIFICATIONS), *posted], NOTIFICATIONS)
    return Gathered(records, notifications.sort("user", "time", maintain_order=True), notes)


def _once(tables: Sequence[pl.DataFrame], columns: Iterable[str]) -> tuple[pl.DataFrame, int]:
    """All rows, those of more than one table from the first; and how many of apps were left out for that."""
    if len(tables) == 1:
        return tables[0], 0
    numbered = [table.with_columns(log=pl.lit(place)) for place, table in enumerate(tables)]
    together = pl.concat(numbered, how="diagonal")
    once = together.filter(pl.col("log") == pl.col("log").min().over(list(columns))).drop("log")
    return once, len(apps_only(together)) - len(apps_only(once))


def _join(parts: Sequence[Part], name: str) -> list[pl.Expr]:
    """All logs as one person's."""
    if not is_text(name) or not name.strip():
        raise BadInput("--as", f"{short(name)} is no name", "give the person a name")
    users: dict[Home, set[str]] = {}
    for part in parts:
        here = users.setdefault(part.home, set())
        here.update(part.users)
        if len(here) > 1:
            why = f"several users in it ({some(here)}), and --as {name} is one person"
            raise BadInput(part.log.name, why, "import one of them alone with --users first")
    return [pl.lit(name).alias("user")] * len(parts)


def _tell_apart(parts: Sequence[Part]) -> tuple[list[pl.Expr], list[str]]:
    """Each log's users under their new names, and a note where these differ."""
    homes: dict[str, set[Home]] = {}
    for part in parts:
        for user in part.users:
            homes.setdefault(user, set()).add(part.home)
    shared = {user: where for user, where in homes.items() if len(where) > 1}
    if not shared:
        return [pl.col("user")] * len(parts), []
    names = _new_names(shared, homes.keys() - shared.keys())
    renamed = []
    for part in parts:
        new = {user: names[user, part.home] for user, where in shared.items() if part.home in where}
        renamed.append(pl.col("user").replace(new))
    first = min(shared)
    people = some([names[first, home] for home in shared[first]])
    others = f", and so for {len(shared) - 1} more" if len(shared) > 1 else ""
    note = f"User {first!r} of several logs is taken for different people ({people}){others}; "
    return renamed, [note + "--as NAME joins one person's logs, --same-users joins by name (stap import)."]


def _new_names(shared: dict[str, set[Home]], alone: Iterable[str]) -> dict[tuple[str, Home], str]:
    """For every shared name and home a name that nobody else has: the nearest part of the home in front of it."""
    deepest = max(len(home) for homes in shared.values() for home in homes)
    for depth in range(2 * deepest):
        names = {
            (user, home): _new_name(user, home, depth, deepest) for user, homes in shared.items() for home in homes
        }
        everybody = [*names.values(), *alone]
        if len(set(everybody)) == len(everybody):
            break
    return names


def _new_name(user: str, home: Home, depth: int, deepest: int) -> str:
    """Past the deepest, where no folder alone tells everybody apart, as many of its nearest parts as it takes."""
    alone = depth < deepest and depth < len(home)
    front = home[depth] if alone else "/".join(reversed(home[: max(2, depth - deepest + 2)]))
    return user if front in ("", user) else f"{front}/{user}"
