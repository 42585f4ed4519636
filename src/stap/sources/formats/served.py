"""What `stap serve` exports, and takes on standard input: a line of JSON an event, with its app, kind and time.

An export names its user in a line before their events; events without one are of the file's name. What is not closed
lasts until the next app, an hour at most, as on the server's page. Times have an offset, and are shown in the zone
asked for. Which apps somebody hides is not read.
"""

from __future__ import annotations

import json

import polars as pl

from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import Zone, iso_utc, take_time
from stap.sources.reading.tables import read_lines
from stap.sources.reading.text import clean, is_text

NAME = "serve"
FIELDS = ("user", "kind", "app", "at")
OPENED, CLOSED, NOTIFIED = "opened", "closed", "notified"
NOTHING = (None,) * len(FIELDS)
LONGEST = pl.duration(hours=1)


def sniff(head: Head) -> float:
    found = [_fields(line) or NOTHING for line in head.lines]
    return 0.95 if any(kind and app and at for _, kind, app, at in found) else 0.0


def read(log: Log, options: Options) -> Records:
    log, zone, sieve = clean(log), Zone(options.zone), log.sieve
    frame = read_lines(log)
    found = [_fields(line) for line in frame["line"]]
    broken = pl.Series([fields is None for fields in found], dtype=pl.Boolean)
    frame = frame.hstack(
        pl.DataFrame([fields or NOTHING for fields in found], dict.fromkeys(FIELDS, pl.String), orient="row")
    )
    frame = sieve.reject(frame, pl.lit(broken), "a broken line:", show="line")
    frame = sieve.bounded(frame, "user").with_columns(pl.col("user").forward_fill())
    frame = frame.filter(pl.col("kind").is_not_null())
    frame = sieve.reject(
        frame, ~pl.col("kind").is_in([OPENED, CLOSED, NOTIFIED]), "no such kind of event:", show="kind"
    )
    frame = take_time(sieve, sieve.require(frame, "app", "at"), "at", iso_utc(pl.col("at")))
    frame = frame.sort("user", "at", maintain_order=True)  # before the wall clock repeats an hour
    notices = frame.filter(pl.col("kind") == NOTIFIED).select("user", "app", time=zone.wall(pl.col("at")))
    table = _usages(frame.filter(pl.col("kind") != NOTIFIED))
    start = zone.wall(pl.col("at"))
    table = table.select("user", "app", start=start, end=start + pl.col("took"))
    return Records(table, (zone.note,), judged=True, notifications=notices)


def _fields(line: str) -> tuple[str | None, ...] | None:
    """The texts of a line, if it is a record of them."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not all(is_text(record.get(name, "")) for name in FIELDS):
        return None
    return tuple(record.get(name) for name in FIELDS)


def _usages(events: pl.DataFrame) -> pl.DataFrame:
    """Each open with how long it took: until its own close or the next app."""
    opened = pl.col("kind") == OPENED
    front = pl.when(opened).then(pl.col("app")).forward_fill().over("user")
    events = events.filter((opened | (pl.col("app") == front)).fill_null(False))
    took = pl.col("at").shift(-1).over("user").fill_null(pl.col("at")) - pl.col("at")
    closed = pl.col("kind").shift(-1).over("user") == CLOSED
    took = pl.when(closed).then(took).otherwise(pl.min_horizontal(took, LONGEST))
    return events.with_columns(took=took).filter(opened)
