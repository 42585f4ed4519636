"""Plain tables: CSV (comma, semicolon or tab) or Parquet with app, start, and where known user and end.

Times are ISO, with a space or a T, with or without a fraction. A time with an offset keeps its wall clock as written,
unless --zone asks for another. Without a user column the file's name is the user; without an end a record is an
instant. A table with exactly user, app, start, end is a usage table and taken as it is: whether its launchers stay was
decided when it was made. From any other they are dropped.
"""

from __future__ import annotations

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import OFFSET, iso_utc, iso_wall, take_spans, take_time, to_wall, zone_name
from stap.sources.reading.rows import ROW
from stap.sources.reading.tables import label_columns, read_header, read_table, split
from stap.sources.reading.text import clean
from stap.usage import SCHEMA

NAME = "plain"
NEEDED = ("app", "start")
SEPARATORS = (",", ";", "\t")


def sniff(head: Head) -> float:
    if head.data[:4] == b"PAR1":
        return 1.0
    lines = head.lines(1)
    return 0.9 if lines and _separator(lines[0]) else 0.0


def read(log: Log, options: Options) -> Records:
    with open(log.path, "rb") as file:
        parquet = file.read(4) == b"PAR1"
    if parquet:
        frame, own = _parquet(log)
    else:
        frame, own = _csv(clean(log))
    anonymous = "user" not in frame.columns
    if anonymous:
        frame = frame.with_columns(pl.lit(log.stem).alias("user"))
    frame = log.sieve.require(frame, "user", "app")
    frame, notes = _times(log, frame, options)
    return Records(frame.select(list(SCHEMA)), notes, judged=own, anonymous=anonymous)


def _separator(line: str) -> str | None:
    """The one under which the header has the columns we need."""
    for separator in SEPARATORS:
        if set(NEEDED).issubset(field.lower() for field in split(line, separator)):
            return separator
    return None


def _csv(log: Log) -> tuple[pl.DataFrame, bool]:
    line = next(iter(log.head().lines(1)), "")
    separator = _separator(line)
    if separator is None:
        raise BadInput(log.name, "no column 'app' or 'start'", "a plain log has app, start and may have user, end", 1)
    names, row = read_header(log, separator)
    names = label_columns(log, names, list(SCHEMA), row)
    frame = read_table(log, separator, names, skip=row)
    own = names == list(SCHEMA)
    return frame.select(ROW, *(name for name in names if name in SCHEMA)), own


def _parquet(log: Log) -> tuple[pl.DataFrame, bool]:
    try:
        frame = pl.read_parquet(log.path, memory_map=False, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise BadInput(log.name, f"no readable Parquet ({str(error).splitlines()[0]})", "write it again") from None
    missing = next((name for name in NEEDED if name not in frame.columns), None)
    if missing:
        raise BadInput(log.name, f"no column {missing!r}", "a plain log has app, start and may have user, end")
    own = dict(frame.schema) == SCHEMA
    known = [name for name in SCHEMA if name in frame.columns]
    texts = [pl.col(name).cast(pl.String) for name in known if name in ("user", "app")]
    times = [name for name in known if name in ("start", "end")]
    for name in times:
        if not isinstance(frame.schema[name], pl.Datetime | pl.String):
            raise BadInput(log.name, f"{name!r} holds {frame.schema[name]}", "start and end are times")
    return frame.select(pl.int_range(1, pl.len() + 1).alias(ROW), *texts, *times), own


def _times(log: Log, frame: pl.DataFrame, options: Options) -> tuple[pl.DataFrame, tuple[str, ...]]:
    notes: set[str] = set()
    names = [name for name in ("start", "end") if name in frame.columns]
    for name in names:
        dtype = frame.schema[name]
        if isinstance(dtype, pl.Datetime):
            parsed = _wall(pl.col(name), dtype, options, notes)
        else:
            parsed = _iso(frame, name, options, notes)
        frame = take_time(log.sieve, frame, name, parsed)
    if "end" not in names:
        frame = frame.with_columns(pl.col("start").alias("end"))
    return take_spans(log.sieve, frame), tuple(sorted(notes))


def _wall(time: pl.Expr, dtype: pl.Datetime, options: Options, notes: set[str]) -> pl.Expr:
    if dtype.time_zone is None:
        return time
    if options.zone is None:
        notes.add(f"Times are kept on the clock they were written in ({dtype.time_zone}); --zone asks for another.")
        return time.dt.replace_time_zone(None)
    zone = zone_name(options.zone)
    notes.add(f"Times with a zone are shown in {zone}, as asked.")
    return time.dt.convert_time_zone(zone).dt.replace_time_zone(None)


def _iso(frame: pl.DataFrame, name: str, options: Options, notes: set[str]) -> pl.Expr:
    """ISO text to wall clock; an offset is cut off, or followed when a zone is asked for."""
    text = pl.col(name)
    has_offset = text.str.strip_chars().str.contains(OFFSET) & text.str.contains(":")
    if not frame.select(has_offset.any()).item():
        return iso_wall(text)
    if options.zone is None:
        notes.add("Times with an offset keep the wall clock they were written in; --zone asks for another.")
        return iso_wall(text)
    zone = zone_name(options.zone)
    notes.add(f"Times with an offset are shown in {zone}, as asked.")
    return pl.when(has_offset).then(to_wall(iso_utc(text), zone)).otherwise(iso_wall(text))
