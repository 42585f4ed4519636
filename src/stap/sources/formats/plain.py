"""Plain tables: CSV (comma, semicolon or tab) or Parquet with app, start, and where known user and end.

Times are ISO, with a space or a T, with or without a fraction. A time with an offset keeps its wall clock as written,
unless --zone asks for another. Without an end a record is an instant. A table with exactly user, app, start, end is a
usage table: whether its launchers stay was decided when it was made. From any other they are dropped. One with `home`
too holds launches and is taken as it is. Notifications in a file beside the table are read with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from threading import Lock

import polars as pl

from stap.errors import BadInput, first_line, short
from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import OFFSET, Zone, iso_utc, iso_wall, take_spans, take_time, unrepeated
from stap.sources.reading.rows import ROW, Sieve
from stap.sources.reading.tables import read_columns, separator_of, split
from stap.sources.reading.text import clean
from stap.sources.reading.trial import check
from stap.usage import BETWEEN, ENDINGS, HOME, LAUNCHES, NOTIFICATIONS, SCHEMA, impossible, notifications_of

NAME = "plain"
NEEDED = ("app", "start")
REMEDY = "a plain log has app, start and may have user, end"
PARQUET = b"PAR1"
MOST_ROWS, ROWS_PER_BYTE = 2_000_000, 2  # of a Parquet file: equal values take next to no room in it
_PLACE = "a row's place, of no column's name"
_TURN = Lock()  # standard error belongs to everybody
TEXTS = (pl.String, pl.Categorical, pl.Enum)


def sniff(head: Head) -> float:
    if head.data.startswith(PARQUET):
        return 1.0
    return 0.9 if separator_of(head.first_line, NEEDED) else 0.0


def read(log: Log, options: Options) -> Records:
    if log.head().data.startswith(PARQUET):
        rows = options.rows
        part = None if rows is None else lambda table: table.slice(rows.first, rows.number)
        frame, schema = _parquet(log, NEEDED, LAUNCHES, REMEDY, part)
        is_usage_table = schema in (SCHEMA, LAUNCHES)
        frame = frame if schema == LAUNCHES else frame.drop(HOME, strict=False)
    else:
        log = clean(log)
        wanted = LAUNCHES if _header(log) == list(LAUNCHES) else SCHEMA
        frame = read_columns(log, NEEDED, wanted, REMEDY)
        is_usage_table = frame.columns == [ROW, *wanted]
    frame = log.sieve.require(frame, *(name for name in ("user", "app") if name in frame.columns))
    times = {name: _time(frame, name, options) for name in ("start", "end") if name in frame.columns}
    frame = _take(log, frame, options, {name: time for name, (time, _) in times.items()})
    if HOME in frame.columns:
        frame = _launches(log, frame)
    notes = tuple({note for _, note in times.values() if note})
    theirs = partial(_of_users, users=frame["user"]) if options.rows and len(frame) else None
    return Records(frame, notes, judged=is_usage_table, notifications=_notifications(log, options, theirs))


def _header(log: Log) -> list[str]:
    line = log.head().first_line
    return [name.lower() for name in split(line, separator_of(line, NEEDED) or ",")]


Part = Callable[[pl.LazyFrame], pl.LazyFrame]


def _of_users(table: pl.LazyFrame, users: pl.Series) -> pl.LazyFrame:
    """Of a file beside in the order of users, where these are."""
    named, ends = "user" in table.collect_schema(), (pl.lit(users.min()), pl.lit(users.max()))
    return table.filter(pl.col("user").cast(pl.String).is_between(*ends)) if named else table


def _parquet(
    log: Log, needed: Collection[str], wanted: Mapping[str, pl.DataType], remedy: str, part: Part | None = None
) -> tuple[pl.DataFrame, dict[str, pl.DataType]]:
    """ROW and the columns wanted that are there, and the schema of the whole file."""
    try:
        with unheard():
            lazy = pl.scan_parquet(log.path, glob=False)
            columns, rows = dict(lazy.collect_schema()), int(lazy.select(pl.len()).collect().item())
            if rows > max(MOST_ROWS, ROWS_PER_BYTE * log.path.stat().st_size):
                raise BadInput(log.name, f"{rows:,} rows in so small a file", "if you trust it, write it as CSV")
            known = _known(log, columns, needed, wanted, remedy)
            if part is None:
                check(log.path, known, rows, log.name)
                frame = pl.read_parquet(log.path, memory_map=False, glob=False, columns=known).with_row_index(ROW, 1)
            else:  # `shards` has tried it
                numbered = pl.scan_parquet(log.path, glob=False, row_index_name=_PLACE, row_index_offset=1)
                frame = part(numbered.select(pl.col(_PLACE).alias(ROW), *known)).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise BadInput(log.name, f"no readable Parquet ({first_line(error)})", "write it again") from None
    texts = [pl.col(name).cast(pl.String) if wanted[name] == pl.String else pl.col(name) for name in known]
    frame = frame.select(pl.col(ROW).cast(pl.Int64), *texts)
    for name in known:
        if (bad := impossible(frame[name])) is not None:
            frame = log.sieve.reject(frame, pl.lit(bad), "not a possible time:", show=name)
    return frame, columns


def _known(
    log: Log,
    columns: Mapping[str, pl.DataType],
    needed: Collection[str],
    wanted: Mapping[str, pl.DataType],
    remedy: str,
) -> list[str]:
    """The columns wanted that are there, each of a kind that it may be: no other is worth decoding."""
    missing = next((name for name in needed if name not in columns), None)
    if missing:
        raise BadInput(log.name, f"no column {missing!r}", remedy)
    for name in (name for name in wanted if name in columns):
        kind = columns[name]
        if wanted[name].is_temporal() and not isinstance(kind, pl.Datetime | pl.String):
            raise BadInput(log.name, f"{name!r} holds {short(kind)}", f"{name} is a time")
        if wanted[name] == pl.String and not (isinstance(kind, TEXTS) or kind.is_integer()):
            raise BadInput(log.name, f"{name!r} holds {short(kind)}", f"{name} is text")
    return [name for name in wanted if name in columns and (name != HOME or columns[name] == pl.Boolean)]


@contextmanager
def unheard() -> Iterator[None]:
    """While polars decodes what may be damaged: where it panics, it writes a page to standard error and then raises."""
    with _TURN, open(os.devnull, "wb") as nowhere:
        try:
            kept = os.dup(2)
        except OSError:  # it is closed
            yield
            return
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _launches(log: Log, frame: pl.DataFrame) -> pl.DataFrame:
    """Launches stay apart: what lay between them is put there again, at the close before."""
    if frame.schema[HOME] == pl.String:
        said = {"true": True, "false": False}
        fits = pl.col(HOME).is_null() | pl.col(HOME).is_in(list(said))
        frame = log.sieve.reject(frame, ~fits, "home is neither true nor false:", show=HOME)
        frame = frame.with_columns(pl.col(HOME).replace_strict(said, default=None, return_dtype=pl.Boolean))
    frame = frame.sort("user", "start", maintain_order=True).with_row_index("place")
    same_user, same_app = (pl.col(name) == pl.col(name).shift() for name in ("user", "app"))
    closed = pl.when(same_user).then(pl.min_horizontal(pl.col("end").shift(), "start")).otherwise("start")
    home = pl.col(HOME).fill_null(False)
    between = pl.when(home).then(pl.lit("home")).when(same_user & same_app).then(pl.lit("off")).cast(BETWEEN)
    marks = frame.with_columns(start=closed, end=closed, between=between).filter(pl.col("between").is_not_null())
    return pl.concat([marks, frame], how="diagonal").sort("place", maintain_order=True)


def _notifications(log: Log, options: Options, part: Part | None) -> pl.DataFrame | None:
    """Those in the file beside, if there is one."""
    path = notifications_of(log.origin)
    if path.suffix not in ENDINGS or not path.is_file():
        return None
    beside = replace(log, path=path, sieve=Sieve(str(path), log.sieve.skip), origin=path)
    needed, remedy = ("app", "time"), "notifications have app, time and may have user"
    if path.suffix == ".parquet":
        frame, _ = _parquet(beside, needed, NOTIFICATIONS, remedy, part)
    else:
        frame = read_columns(clean(beside), needed, NOTIFICATIONS, remedy)
    frame = beside.sieve.require(frame, *(name for name in ("user", "app") if name in frame.columns))
    frame = take_time(beside.sieve, frame, "time", _time(frame, "time", options)[0])
    log.sieve.skipped += beside.sieve.skipped
    return frame


def _time(frame: pl.DataFrame, name: str, options: Options) -> tuple[pl.Expr, str]:
    """A column's wall clock, and a note where it has a zone: that is cut off, or followed when another is asked for."""
    time, dtype = pl.col(name), frame.schema[name]
    if isinstance(dtype, pl.Datetime):
        wall, utc = time, time.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        zoned = pl.lit(dtype.time_zone is not None)
        if dtype.time_zone is not None:
            wall = Zone(dtype.time_zone).wall(utc)
    else:
        wall, utc = iso_wall(time), iso_utc(time)
        zoned = _has_offset(name)
    if not frame.select(zoned.any()).item():
        return wall, ""
    if options.zone is None:
        return wall, "Times with a zone keep the wall clock they were written in; --zone asks for another."
    zone = Zone(options.zone)
    shown = pl.when(zoned).then(zone.wall(utc)).otherwise(wall)
    return shown, f"Times with a zone are shown in {zone.name}, as asked."


@cache
def _has_offset(name: str) -> pl.Expr:
    return pl.col(name).str.strip_chars().str.contains(OFFSET) & pl.col(name).str.contains(":")


def _take(log: Log, frame: pl.DataFrame, options: Options, times: dict[str, pl.Expr]) -> pl.DataFrame:
    """Spans on the wall clock; in the order that written offsets tell, where all have one."""
    text = frame.schema["start"] == pl.String
    if options.zone or not text or not frame.select(_has_offset("start").all()).item():
        return take_spans(log.sieve, frame, **times)
    return unrepeated(take_spans(log.sieve, frame.with_columns(utc=iso_utc(pl.col("start"))), **times))
