"""Plain tables: CSV (comma, semicolon or tab) or Parquet with app, start, and where known user and end.

Times are ISO, with a space or a T, with or without a fraction. A time with an offset keeps its wall clock as written,
unless --zone asks for another. Without an end a record is an instant. A table with exactly user, app, start, end is a
usage table and taken as it is: whether its launchers stay was decided when it was made. From any other they are
dropped.
"""

from __future__ import annotations

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import OFFSET, Zone, iso_utc, iso_wall, take_spans
from stap.sources.reading.rows import ROW
from stap.sources.reading.tables import read_columns, separator_of
from stap.sources.reading.text import clean
from stap.usage import SCHEMA

NAME = "plain"
NEEDED = ("app", "start")
REMEDY = "a plain log has app, start and may have user, end"
PARQUET = b"PAR1"


def sniff(head: Head) -> float:
    if head.data.startswith(PARQUET):
        return 1.0
    return 0.9 if separator_of(head.first_line, NEEDED) else 0.0


def read(log: Log, options: Options) -> Records:
    if log.head().data.startswith(PARQUET):
        frame, is_usage_table = _parquet(log)
    else:
        frame = read_columns(clean(log), NEEDED, SCHEMA, REMEDY)
        is_usage_table = frame.columns == [ROW, *SCHEMA]
    frame = log.sieve.require(frame, *(name for name in ("user", "app") if name in frame.columns))
    times = {name: _time(frame, name, options) for name in ("start", "end") if name in frame.columns}
    frame = take_spans(log.sieve, frame, **{name: time for name, (time, _) in times.items()})
    return Records(frame, tuple({note for _, note in times.values() if note}), judged=is_usage_table)


def _parquet(log: Log) -> tuple[pl.DataFrame, bool]:
    try:
        frame = pl.read_parquet(log.path, memory_map=False, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise BadInput(log.name, f"no readable Parquet ({str(error).splitlines()[0]})", "write it again") from None
    missing = next((name for name in NEEDED if name not in frame.columns), None)
    if missing:
        raise BadInput(log.name, f"no column {missing!r}", REMEDY)
    is_usage_table = dict(frame.schema) == SCHEMA
    known = [name for name in SCHEMA if name in frame.columns]
    for name in known:
        if name in ("start", "end") and not isinstance(frame.schema[name], pl.Datetime | pl.String):
            raise BadInput(log.name, f"{name!r} holds {frame.schema[name]}", "start and end are times")
    columns = [pl.col(name).cast(pl.String) if name in ("user", "app") else pl.col(name) for name in known]
    return frame.select(pl.int_range(1, pl.len() + 1).alias(ROW), *columns), is_usage_table


def _time(frame: pl.DataFrame, name: str, options: Options) -> tuple[pl.Expr, str]:
    """A column's wall clock, and a note where it has a zone: that is cut off, or followed when another is asked for."""
    time, dtype = pl.col(name), frame.schema[name]
    if isinstance(dtype, pl.Datetime):
        wall, utc = time.dt.replace_time_zone(None), time.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        zoned = pl.lit(dtype.time_zone is not None)
    else:
        wall, utc = iso_wall(time), iso_utc(time)
        zoned = time.str.strip_chars().str.contains(OFFSET) & time.str.contains(":")
    if not frame.select(zoned.any()).item():
        return wall, ""
    if options.zone is None:
        return wall, "Times with a zone keep the wall clock they were written in; --zone asks for another."
    zone = Zone(options.zone)
    shown = pl.when(zoned).then(zone.wall(utc)).otherwise(wall)
    return shown, f"Times with a zone are shown in {zone.name}, as asked."
