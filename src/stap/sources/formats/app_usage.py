"""The "App Usage" app's CSV export: App name, Date, Time, Duration; newest first; a footer at the end.

Screen, notification and boot rows stand among the apps under localised names; dates and times come in the phone's own
manner. Both are settled from the whole file: see `app_usage_rows` and `localised`. The user is the file's name.
"""

from __future__ import annotations

import re

import polars as pl

from stap.sources.reading.app_usage_rows import pseudo_names
from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import ascii_digits, take_spans, take_time
from stap.sources.reading.localised import read_dates, read_times
from stap.sources.reading.rows import ROW
from stap.sources.reading.tables import read_header, read_table, split
from stap.sources.reading.text import clean
from stap.usage import SCHEMA

NAME = "app-usage"
COLUMNS = ["app", "date", "time", "duration"]
HEADER = ["app name", "date", "time", "duration"]
DATE = re.compile(r"\D*\d{1,4}\D{1,3}\d{1,2}\D{1,3}\d{1,4}\D*")
DURATION = re.compile(r"\d+:\d\d:\d\d")


def sniff(head: Head) -> float:
    """By the header, or, where that is translated too, by the shape of the first rows."""
    rows = [split(line, ",") for line in head.lines(5)]
    if not rows or len(rows[0]) != len(COLUMNS):
        return 0.0
    if [name.lower() for name in rows[0]] == HEADER:
        return 1.0
    data = [row for row in rows[1:4] if len(row) == len(COLUMNS)]
    return 0.8 if data and all(DATE.fullmatch(row[1]) and DURATION.fullmatch(row[3]) for row in data) else 0.0


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    _, header = read_header(log, ",")
    frame = _without_footer(read_table(log, ",", COLUMNS, skip=header))
    frame = log.sieve.require(frame, *COLUMNS).with_columns(ascii_digits(name) for name in COLUMNS[1:])
    pseudo = pseudo_names(frame)
    apps = frame.filter(~pl.col("app").is_in(list(pseudo)))
    day, order = read_dates(log.sieve, frame)  # from every row: the more dates, the surer their order
    frame = apps.join(day, on=ROW, how="inner", maintain_order="left")
    frame = read_times(log.sieve, frame)
    start = pl.col("day") + pl.duration(seconds=pl.col("second"))
    frame = take_time(log.sieve, frame.with_columns(pl.col("date").alias("start")), "start", start)
    frame = frame.with_columns((pl.col("start") + pl.duration(seconds=_seconds("duration"))).alias("end"))
    frame = log.sieve.reject(frame, pl.col("end").is_null(), "not a duration:", show="duration")
    frame = take_spans(log.sieve, frame)
    if order.newest_first:
        frame = frame.reverse()
    notes = [f"{log.name}: dates were read as {order.describe()}."]
    if len(pseudo):
        notes.append(f"{log.name}: screen, notification and boot rows are no app and were left out.")
    frame = frame.with_columns(pl.lit(log.stem).alias("user"))
    return Records(frame.select(list(SCHEMA)), tuple(notes), anonymous=True)


def _without_footer(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows up to the last one with a date: what follows is prose about the export."""
    last = frame.filter(pl.col("date").is_not_null())[ROW].max()
    return frame if last is None else frame.filter(pl.col(ROW) <= last)


def _seconds(column: str) -> pl.Expr:
    """h:mm:ss, where h may pass 24 and a minus makes it bad later."""
    parts = pl.col(column).str.strip_chars().str.extract_groups(r"^(-?)(\d+):(\d\d?):(\d\d?)$").struct
    hours, minutes, seconds = (parts.field(str(i)).cast(pl.Int64) for i in (2, 3, 4))
    total = hours * 3600 + minutes * 60 + seconds
    return pl.when(parts.field("1") == "-").then(-total).otherwise(total)
