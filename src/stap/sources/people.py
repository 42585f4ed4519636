"""Who is who when several logs are given: the same name in two of them is two people, unless something says it is one.

A name is one person within a log; in all logs of a data set that lie in one folder, as UbiqLog's daily files do; and
under one stem, as in my.csv and my.parquet. Elsewhere the same name is somebody else, and both get in front of it where
they come from: the log's stem (of a data set, its format), or the nearest folder above that differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.base import Log, Options, bare_name
from stap.usage import SCHEMA, some

Home = tuple[str, ...]  # within which a name is one person: a stem or a format, then the folders above, nearest first


@dataclass(frozen=True)
class Part:
    """One log's records, launchers and system UI out."""

    log: Log
    format: str
    home: Home
    table: pl.DataFrame  # columns of the usage table
    dropped: int  # launcher and system rows


def trail(path: Path) -> Home:
    """The bare names of a file or folder and of all folders above."""
    return tuple(bare_name(place) for place in (path, *path.parents))


def gather(parts: Sequence[Part], options: Options) -> tuple[pl.DataFrame, list[str]]:
    """All records in one table, everybody under a name of their own; and notes for a person."""
    tables, notes = [part.table for part in parts], list[str]()
    if options.as_user is not None:
        tables = _join(parts, options.as_user)
    elif not options.same_users:
        tables, notes = _tell_apart(parts)
    if len(parts) == 1:
        return tables[0], notes
    together = pl.concat(table.with_columns(log=pl.lit(place)) for place, table in enumerate(tables))
    once = together.filter(pl.col("log") == pl.col("log").min().over(list(SCHEMA))).drop("log")
    if len(once) < len(together):
        notes.append(f"{len(together) - len(once)} records stood in more than one log and count once.")
    return once, notes


def _join(parts: Sequence[Part], name: str) -> list[pl.DataFrame]:
    """All logs as one person's."""
    if not name.strip():
        raise BadInput("--as", "an empty name", "give the person a name")
    users: dict[Home, set[str]] = {}
    for part in parts:
        here = users.setdefault(part.home, set())
        here.update(part.table["user"].unique())
        if len(here) > 1:
            why = f"several users in it ({some(here)}), and --as {name} is one person"
            raise BadInput(part.log.name, why, "import one of them alone with --users first")
    return [part.table.with_columns(user=pl.lit(name)) for part in parts]


def _tell_apart(parts: Sequence[Part]) -> tuple[list[pl.DataFrame], list[str]]:
    homes: dict[str, set[Home]] = {}
    for part in parts:
        for user in part.table["user"].unique():
            homes.setdefault(user, set()).add(part.home)
    shared = {user: where for user, where in homes.items() if len(where) > 1}
    if not shared:
        return [part.table for part in parts], []
    names = _new_names(shared, homes.keys() - shared.keys())
    tables = []
    for part in parts:
        new = {user: names[user, part.home] for user, where in shared.items() if part.home in where}
        tables.append(part.table.with_columns(pl.col("user").replace(new)))
    first = min(shared)
    people = some([names[first, home] for home in shared[first]])
    others = f", and so for {len(shared) - 1} more" if len(shared) > 1 else ""
    note = f"User {first!r} of several logs is taken for different people ({people}){others}; "
    return tables, [note + "--as NAME joins one person's logs, --same-users joins by name (stap import)."]


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
