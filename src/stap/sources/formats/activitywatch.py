"""ActivityWatch bucket exports, desktop and Android: all buckets, one bucket, or a bare list of events.

Only buckets of type "currentwindow" count. An app is its package on Android, its name on a desktop. Where the host has
an "afkstatus" bucket, windows are cut at the times the person was away, and these lie between them. Times are UTC,
shown in the zone asked for. The user is the bucket's hostname, or the file's name where that is unknown. A row number
is an event's place in its bucket.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from stap.errors import BadInput, short
from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import LATEST, Zone, iso_utc, take_spans, take_time
from stap.sources.reading.rows import ROW
from stap.sources.reading.tables import MANY, MEMORY
from stap.sources.reading.text import clean_document, is_text
from stap.usage import BETWEEN, TIME

NAME = "activitywatch"
LARGEST = 256 << 20
LONGEST = 1e9  # seconds
LAG = timedelta(minutes=1)  # between two signs of life of an AFK watcher, at most
COSTS = {"{": 240, "[": 72, ",": 60}  # bytes that Python needs for a part that begins so
EVENT_SCHEMA = {ROW: pl.Int64(), "app": pl.String(), "time": pl.String(), "seconds": pl.Float64()}


def sniff(head: Head) -> float:
    text = head.text.lstrip()
    if text[:1] not in ("{", "["):
        return 0.0
    if '"buckets"' in text[:2000]:
        return 0.95
    return 0.8 if all(word in text for word in ('"timestamp"', '"duration"', '"data"')) else 0.0


def read(log: Log, options: Options) -> Records:
    zone = Zone(options.zone)
    buckets = _buckets(log, _document(log))
    windows = [bucket for bucket in buckets if bucket.get("type") == "currentwindow"]
    if not windows:
        raise BadInput(log.name, "no bucket of type currentwindow", "export the window or the Android watcher's bucket")
    tables = []
    for bucket in windows:
        host = bucket.get("hostname")
        away = [other for other in buckets if other.get("type") == "afkstatus" and other.get("hostname") == host]
        frame = _events(log, bucket, ("package", "app"))
        if away:
            status = pl.concat(_events(log, other, ("status",)) for other in away)
            frame = cut_away(frame, _afk(status, options.until))
        known = is_text(host) and host not in ("", "unknown")
        tables.append(frame.with_columns(user=pl.lit(host if known else None, pl.String)))
    frame = pl.concat(tables, how="diagonal")
    length = pl.col("end") - pl.col("start")  # kept as it is: the wall clock may jump back in between
    start = zone.wall(pl.col("start"))
    frame = frame.with_columns(start=start, end=start + length).sort("start", maintain_order=True)
    return Records(frame, (zone.note,), dataset=not frame["user"].has_nulls())


def _document(log: Log) -> Any:
    text = clean_document(log, LARGEST)
    if sum(cost * text.count(mark) for mark, cost in COSTS.items()) > max(MEMORY, MANY * len(text)):
        raise BadInput(log.name, "JSON of far more parts than an export has", "export it again")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(log.name, f"broken JSON ({error.msg})", "export it again", error.lineno) from None
    except ValueError:  # an integer of more digits than Python reads
        raise BadInput(log.name, "a number that no export holds", "export it again") from None
    except RecursionError:
        raise BadInput(log.name, "JSON nested too deep to be an export", "export it again") from None


def _buckets(log: Log, document: Any) -> list[dict[str, Any]]:
    """All the shapes an export has, as a list of buckets."""
    if isinstance(document, list):
        return [{"type": "currentwindow", "events": document}]
    if isinstance(document, dict):
        buckets = document.get("buckets", [document])
        buckets = list(buckets.values()) if isinstance(buckets, dict) else buckets
        if isinstance(buckets, list) and all(isinstance(bucket, dict) for bucket in buckets):
            return buckets
    raise BadInput(log.name, "no buckets in it", "export the buckets from ActivityWatch's own page")


def _events(log: Log, bucket: dict[str, Any], keys: tuple[str, ...]) -> pl.DataFrame:
    """ROW, app, start, end in UTC, in the order of the bucket turned oldest first."""
    events = bucket.get("events")
    if not isinstance(events, list):
        raise BadInput(log.name, f"bucket {short(bucket.get('id'))} has no events", "export it again")
    frame = pl.DataFrame(list(_rows(events, keys)), schema=EVENT_SCHEMA, orient="row")
    sieve = log.sieve
    frame = sieve.bounded(sieve.reject(frame, pl.col("app") == "", f"an event without {' or '.join(keys)}"), "app")
    frame = take_time(sieve, frame, "time", iso_utc(pl.col("time")))
    frame = sieve.reject(frame, pl.col("seconds").is_null(), "an event without a possible duration")
    span = pl.duration(microseconds=(pl.col("seconds") * 1e6).round().cast(pl.Int64))
    frame = frame.select(ROW, "app", start="time", end=pl.col("time") + span)
    return take_spans(sieve, frame).reverse()


def _rows(events: list[Any], keys: tuple[str, ...]) -> Iterator[tuple[int, str | None, str | None, float | None]]:
    for row, event in enumerate(events, 1):
        event = event if isinstance(event, dict) else {}
        data = event.get("data")
        data = data if isinstance(data, dict) else {}
        name = next((data[key] for key in keys if is_text(data.get(key))), None)
        time, seconds = event.get("timestamp"), event.get("duration")
        seconds = float(seconds) if isinstance(seconds, int | float) and abs(seconds) < LONGEST else None
        yield row, name, time if is_text(time) else None, seconds


def _afk(status: pl.DataFrame, until: datetime | None) -> pl.DataFrame:
    """When the person was away. Read live, one who was a moment ago still is: the AFK watcher writes more seldom."""
    away = status.filter(pl.col("app") == "afk")
    if until is None or status.is_empty():
        return away
    still = (pl.col("start") == status["start"].max()) & (pl.col("end") > until - LAG) & (pl.col("end") < until)
    return away.with_columns(end=pl.when(still).then(pl.lit(until, TIME)).otherwise("end"))


def cut_away(windows: pl.DataFrame, away: pl.DataFrame) -> pl.DataFrame:
    """Windows without the time the person was away, gone where nothing is left; and the absences between them."""
    absences = _absences(away)
    if absences.is_empty() or windows.is_empty():
        return windows
    inside = {"start": pl.col("until") > pl.col("at"), "end": pl.col("until") >= pl.col("at")}
    for edge, other in (("start", "until"), ("end", "from")):
        windows = (
            windows.with_columns(pl.col(edge).alias("at"))
            .sort("at", maintain_order=True)
            .join_asof(absences, left_on="at", right_on="from", strategy="backward")
            .with_columns(pl.when(inside[edge]).then(pl.col(other)).otherwise(pl.col(edge)).alias(edge))
            .select(ROW, "app", "start", "end")
        )
    windows = windows.filter(pl.col("start") <= pl.col("end")).sort("start", maintain_order=True)
    between = absences.select(app=pl.lit("afk"), start="from", end="until", between=pl.lit("off", BETWEEN))
    return pl.concat([_in_pieces(windows, absences), between], how="diagonal")


def _absences(away: pl.DataFrame) -> pl.DataFrame:
    """In order, and none overlaps another."""
    away = away.filter(pl.col("end") > pl.col("start")).sort("start")
    fresh = (pl.col("start") > pl.col("end").cum_max().shift()).fill_null(True)
    return (
        away.with_columns(fresh.cum_sum().alias("n"))
        .group_by("n", maintain_order=True)
        .agg(pl.col("start").min().alias("from"), pl.col("end").max().alias("until"))
    )


def _in_pieces(windows: pl.DataFrame, absences: pl.DataFrame) -> pl.DataFrame:
    """A window that spans absences becomes what lies before, between and after them, if no other began meanwhile."""
    start, end = windows["start"].to_numpy(), windows["end"].to_numpy()
    left, back = absences["from"].to_numpy(), absences["until"].to_numpy()
    low = np.searchsorted(left, start, "right")  # the first absence after each start
    cuts = np.maximum(np.searchsorted(back, end, "left") - low, 0)  # (windows,) absences inside each
    following = np.append(start[1:], np.datetime64(LATEST, "us"))
    cuts = np.where(following > back[low + cuts - 1], cuts, 0)
    row = np.repeat(np.arange(len(start)), cuts + 1)
    piece = np.arange(len(row)) - np.repeat(np.cumsum(cuts + 1) - (cuts + 1), cuts + 1)  # counted in each window
    before = low[row] + piece  # the absence after this piece; the one before it ends where the piece begins
    begins = np.where(piece > 0, back[before - 1], start[row])
    ends = np.where(piece < cuts[row], left[np.minimum(before, len(left) - 1)], end[row])
    return windows.gather(row).with_columns(start=pl.Series(begins, dtype=TIME), end=pl.Series(ends, dtype=TIME))
