"""Logs of every kind to the one usage table: sniff the format, read the records, set the system aside, join.

A source is a module with NAME, `sniff` and `read`; it knows one format and nothing of the others.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from stap import usage
from stap.errors import BadInput
from stap.files import as_path
from stap.sources.formats import activitywatch, app_usage, aware, dumpsys, lsapp, plain, served, tsinghua, ubiqlog
from stap.sources.people import Part, gather, trail
from stap.sources.reading.base import Log, Options, Records, Source
from stap.sources.reading.opening import open_logs
from stap.sources.reading.rows import Sieve
from stap.sources.reading.scratch import Scratch
from stap.sources.reading.system import is_system, set_aside, system_kind
from stap.sources.reading.text import clean

__all__ = ["FORMATS", "Imported", "NoLog", "Options", "read", "read_piece"]

SOURCES: dict[str, Source] = {
    source.NAME: source
    for source in (lsapp, tsinghua, ubiqlog, dumpsys, app_usage, activitywatch, aware, served, plain)
}
FORMATS = tuple(SOURCES)
SURE = 0.5
LONGEST_GAP = 1e9  # seconds
NAME_IT = f"name the format with --format ({', '.join(FORMATS)})"


class NoLog(BadInput):
    """A file of no format that is known here."""


@dataclass(frozen=True)
class Imported:
    """A usage table and how it came about."""

    table: pl.DataFrame  # validated: launches, or merged usages where all gaps were asked for
    format: str  # the names of all formats read, joined by +
    records: int  # app records read, before anything was dropped or merged
    skipped: int  # bad rows left out
    dropped: int  # records of launchers and system UI left out
    notes: tuple[str, ...]  # sentences for a person
    notifications: pl.DataFrame  # user, app, time: in order, of people who have usages


def parse_gap(text: str) -> float | None:
    """What --merge-gap says: seconds, or `all`."""
    if text == "all":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_GAP:
        raise BadInput(f"--merge-gap {text}", "neither seconds nor all", "give seconds, e.g. 60, or all")
    return seconds


def read(paths: Sequence[str | Path], options: Options = Options()) -> Imported:  # noqa: B008 - frozen
    """Any logs, of one format or several, as one usage table. Raises BadInput for what a person has to mend."""
    if options.format is not None and options.format not in SOURCES:
        raise BadInput(f"--format {options.format}", "no such format", f"use one of {', '.join(FORMATS)}")
    if not paths:
        raise BadInput("logs", "none is named", "name a file, a folder, or -")
    if options.merge_gap is not None and not 0 <= options.merge_gap <= LONGEST_GAP:
        raise BadInput("merge_gap", f"{options.merge_gap} is no number of seconds", "give seconds, e.g. 60, or None")
    paths = [as_path(path) for path in paths]
    with tempfile.TemporaryDirectory(prefix="stap-") as scratch:
        parts, notes = read_parts(paths, Scratch(Path(scratch)), options)
        made = join_parts(parts, notes, options)
    return replace(made, table=usage.validate(made.table, ", ".join(str(path) for path in paths)))


def read_piece(data: bytes, name: str, format: str, options: Options = Options()) -> Imported:  # noqa: B008 - frozen
    """What a log that is still being written has to say, some of it at a time; there may be no usage in it yet.

    `name` is what a person calls the log, and the user where it names nobody.
    """
    with tempfile.TemporaryDirectory(prefix="stap-") as scratch:
        path = Path(scratch) / "piece"
        path.write_bytes(data)
        log = Log(path, Sieve(name, options.skip_bad_rows), Scratch(Path(scratch)), Path(name))
        records = SOURCES[format].read(log, options)
        return join_parts([_part(log, format, records, Path(), options)], list(records.notes), options)


def join_parts(parts: Sequence[Part], notes: Sequence[str], options: Options) -> Imported:
    """All parts together as launches or merged usages, before the border check."""
    gathered = gather(parts, options)
    records = usage.in_front(gathered.records) if options.in_front else gathered.records
    gap, whole = options.merge_gap, options.until is None
    table = usage.merge(records) if gap is None else usage.launches(records, gap, whole)
    return Imported(
        table=table,
        format="+".join(dict.fromkeys(part.format for part in parts)),
        records=sum(part.records + part.dropped for part in parts),
        skipped=sum(part.log.sieve.skipped for part in parts),
        dropped=sum(part.dropped for part in parts),
        notes=tuple(dict.fromkeys([*notes, *gathered.notes, *_on_instants(records, options)])),
        notifications=gathered.notifications.filter(pl.col("user").is_in(table["user"].unique().implode())),
    )


def _on_instants(records: pl.DataFrame, options: Options) -> list[str]:
    people = [] if options.merge_gap is None or options.until else usage.instants(records)
    who = f"{usage.some(people)}: the log is of instants and shows no pauses, so an app's records in a row are "
    return [who + "one launch, however far apart."] if people else []


def read_parts(paths: Sequence[str | Path], scratch: Scratch, options: Options) -> tuple[list[Part], list[str]]:
    """What each of the logs holds, and sentences for a person."""
    parts: list[Part] = []
    notes: list[str] = []
    strangers: list[str] = []
    given = {Path(path).absolute() for path in paths}
    for path in paths:
        if (table := usage.table_of(Path(path))) is not None:
            if table.absolute() in given:
                continue
            raise BadInput(str(path), "notifications, which lie beside a usage table", f"name {table} instead")
        in_folder = str(path) != "-" and Path(path).is_dir()
        folder = Path(os.path.abspath(path if in_folder else Path(path).parent))
        before = len(parts)
        for log in open_logs(path, scratch, options.skip_bad_rows):
            source = SOURCES[options.format] if options.format else _recognise(log)
            if source is None and in_folder:
                strangers.append(log.name)
                continue
            if source is None:
                raise _unknown(log)
            records = source.read(log, options)
            parts.append(_part(log, source.NAME, records, folder, options))
            notes.extend(records.notes)
        if len(parts) == before:
            raise BadInput(str(path), "no log in this folder", NAME_IT)
    if strangers:
        notes.append(f"{len(strangers)} other files were passed over, the first being {strangers[0]}.")
    return parts, notes


def _part(log: Log, format: str, records: Records, folder: Path, options: Options) -> Part:
    """The records in the columns of the usage table; where a log names nobody, its stem is the user."""

    def columns(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
        user = pl.col("user").fill_null(log.stem) if "user" in frame.columns else pl.lit(log.stem).alias("user")
        return frame.select(user, *(name for name in names if name in frame.columns))

    table, dropped = columns(records.table, "app", "start", "end", "between"), 0
    posted = None if records.notifications is None else columns(records.notifications, "app", "time")
    if not (records.judged or options.keep_system):
        table, dropped = set_aside(table, system_kind)
        if posted is not None:
            posted = posted.filter(~pl.col("app").is_in([app for app in posted["app"].unique() if is_system(app)]))
    home = (format, *trail(folder)) if records.dataset else trail(log.origin)
    return Part(log, format, home, table, posted, records.dropped + dropped)


def _recognise(log: Log) -> Source | None:
    head = log.head()
    sure = {source.NAME: source.sniff(head) for source in SOURCES.values()}
    best = max(sure, key=sure.__getitem__)
    return SOURCES[best] if sure[best] >= SURE else None


def _unknown(log: Log) -> NoLog:
    """Why nobody knew it: a damaged file deserves its own words."""
    if log.head().data.startswith(b"PK"):
        return NoLog(log.name, "a zip archive", "unpack it and name the folder")
    try:
        clean(log)
    except BadInput as error:
        return NoLog(error.where, error.why, error.remedy, error.row)
    return NoLog(log.name, "no format that is known here", NAME_IT)
