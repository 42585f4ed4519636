"""Logs of every kind to the one usage table: sniff the format, read the records, drop the system, merge.

A source is a module with NAME, `sniff` and `read`; it knows one format and nothing of the others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stap import usage
from stap.errors import BadInput
from stap.sources.formats import activitywatch, app_usage, aware, dumpsys, lsapp, plain, tsinghua, ubiqlog
from stap.sources.reading.base import Log, Options, Records, Source
from stap.sources.reading.opening import open_logs
from stap.sources.reading.system import drop_system
from stap.sources.reading.text import clean

__all__ = ["FORMATS", "Imported", "Options", "read"]

SOURCES: dict[str, Source] = {
    source.NAME: source for source in (lsapp, tsinghua, ubiqlog, dumpsys, app_usage, activitywatch, aware, plain)
}
FORMATS = tuple(SOURCES)
SURE = 0.5
NAME_IT = f"name the format with --format ({', '.join(FORMATS)})"


@dataclass(frozen=True)
class Imported:
    """A usage table and how it came about."""

    table: pl.DataFrame  # validated, merged
    format: str  # the names of all formats read, joined by +
    records: int  # app records read, before anything was dropped or merged
    skipped: int  # bad rows left out
    dropped: int  # records of launchers and system UI left out
    notes: tuple[str, ...]  # sentences for a person


@dataclass(frozen=True)
class _Part:
    """One log's records, and where they came from."""

    log: Log
    format: str
    records: Records


def read(paths: Sequence[str | Path], options: Options = Options()) -> Imported:  # noqa: B008 - frozen
    """Any logs, of one format or several, as one usage table. Raises BadInput for what a person has to mend."""
    if options.format is not None and options.format not in SOURCES:
        raise BadInput(f"--format {options.format}", "no such format", f"use one of {', '.join(FORMATS)}")
    where = ", ".join(str(path) for path in paths)
    with tempfile.TemporaryDirectory(prefix="stap-") as scratch:
        parts, notes = _read_parts(paths, Path(scratch), options)
        records, dropped = _gather(parts, options, notes)
    table = usage.validate(usage.merge(usage.in_front(records) if options.in_front else records), where)
    return Imported(
        table=table,
        format="+".join(dict.fromkeys(part.format for part in parts)),
        records=sum(len(part.records.table) + part.records.dropped for part in parts),
        skipped=sum(part.log.sieve.skipped for part in parts),
        dropped=dropped,
        notes=tuple(dict.fromkeys(notes)),
    )


def _read_parts(paths: Sequence[str | Path], scratch: Path, options: Options) -> tuple[list[_Part], list[str]]:
    parts: list[_Part] = []
    notes: list[str] = []
    strangers: list[str] = []
    for path in paths:
        in_folder = str(path) != "-" and Path(path).is_dir()
        before = len(parts)
        for log in open_logs(path, scratch, options.skip_bad_rows):
            source = SOURCES[options.format] if options.format else _recognise(log)
            if source is None and in_folder:
                strangers.append(log.name)
                continue
            if source is None:
                raise _unknown(log)
            parts.append(_Part(log, source.NAME, source.read(log, options)))
            notes.extend(parts[-1].records.notes)
        if len(parts) == before:
            raise BadInput(str(path), "no log in this folder", NAME_IT)
    if strangers:
        notes.append(f"{len(strangers)} other files were passed over, the first being {strangers[0]}.")
    return parts, notes


def _recognise(log: Log) -> Source | None:
    head = log.head()
    best = max(SOURCES.values(), key=lambda source: source.sniff(head))
    return best if best.sniff(head) >= SURE else None


def _unknown(log: Log) -> BadInput:
    """Why nobody knew it: a damaged file deserves its own words."""
    if log.head().data.startswith(b"PK"):
        return BadInput(log.name, "a zip archive", "unpack it and name the folder")
    clean(log)
    return BadInput(log.name, "no format that is known here", NAME_IT)


def _gather(parts: list[_Part], options: Options, notes: list[str]) -> tuple[pl.DataFrame, int]:
    """All records in one table: system out, users told apart, exact repeats between logs left out."""
    tables, dropped = [], 0
    for part in parts:
        table, gone = part.records.table, 0
        if not (part.records.judged or options.keep_system):
            table, gone = drop_system(table)
        dropped += gone + part.records.dropped
        tables.append(table)
    if len(parts) == 1:
        return tables[0], dropped
    tables = _tell_apart(parts, tables, notes)
    together = pl.concat(tables)
    distinct = together.unique(maintain_order=True)
    if len(distinct) < len(together):
        notes.append(f"{len(together) - len(distinct)} records stood in more than one place and count once.")
    return distinct, dropped


def _tell_apart(parts: list[_Part], tables: list[pl.DataFrame], notes: list[str]) -> list[pl.DataFrame]:
    """The same user name in two formats, or the same file name in two folders, are two people."""
    owners: dict[str, set[str]] = {}
    places = []
    for part, table in zip(parts, tables, strict=True):
        place = part.log.folder if part.records.anonymous else part.format
        places.append(place)
        for user in table["user"].unique():
            owners.setdefault(user, set()).add(place)
    shared = [user for user, where in owners.items() if len(where) > 1]
    if not shared:
        return tables
    notes.append(f"{len(shared)} user names occur in several logs and got the folder or format in front.")
    return [
        table.with_columns(
            pl.when(pl.col("user").is_in(shared)).then(place + "/" + pl.col("user")).otherwise("user").alias("user")
        )
        for table, place in zip(tables, places, strict=True)
    ]
