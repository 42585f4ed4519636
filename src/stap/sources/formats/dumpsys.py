"""Android's `adb shell dumpsys usagestats`: event lines in several sections that repeat each other.

A usage begins when an activity comes to the front and ends at the next event that takes it away: its own pause or
stop, another app's coming, the screen going dark, the keyguard, a shutdown. Only event lines are read, so the headers
may be in any language. Times are the phone's wall clock, or UTC milliseconds in a --checkin dump; old Androids write
them in the phone's manner. The user is the file's name, with /N for the phone's user N other than 0. Notifications are
those that interrupted or were seen.
"""

from __future__ import annotations

import re
from datetime import datetime

import polars as pl

from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import Zone, ascii_digits, epoch_utc, parse, take_time
from stap.sources.reading.localised import take_local_times
from stap.sources.reading.tables import read_lines
from stap.sources.reading.text import clean
from stap.usage import BETWEEN, TIME

NAME = "dumpsys"
FRONT = ["ACTIVITY_RESUMED", "MOVE_TO_FOREGROUND", "CONTINUE_PREVIOUS_DAY", "1", "4"]
BACK = ["ACTIVITY_PAUSED", "ACTIVITY_STOPPED", "ACTIVITY_DESTROYED", "MOVE_TO_BACKGROUND", "2", "23", "24"]
DARK = ["SCREEN_NON_INTERACTIVE", "KEYGUARD_SHOWN", "DEVICE_SHUTDOWN", "DEVICE_STARTUP", "16", "17", "26", "27"]
NOTIFIED = ["NOTIFICATION_SEEN", "NOTIFICATION_INTERRUPTION", "10", "12"]
EVENT = r"^\s*time=\"?([^\"]*?)\"? type=(\S+)(?: package=(\S+))?(?: class=(\S+))?(?: instanceId=(\S+))?"
SIGN = re.compile(r'^[ \t]*time="?[^"\n]{0,99}"? type=\w{1,99} package=|^[ \t]*Last 24 hour events', re.MULTILINE)
LINE = r"^\s*time="
LOCALISED = r"^(\D*\d+\D+\d+\D+\d+)\D*?[, ]+(\D*\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(\D*)$"
PLAIN = "%Y-%m-%d %H:%M:%S"


def sniff(head: Head) -> float:
    return 0.95 if SIGN.search(head.text) else 0.0


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    frame, notes = _times(log, _lines(log), options)
    keys = ["user", "time", "type", "package", "class", "instance"]
    frame = frame.unique(keys, keep="first", maintain_order=True).sort("user", "time", maintain_order=True)
    frame = frame.with_columns(user=pl.when(pl.col("user") != "0").then(pl.lit(log.stem + "/") + pl.col("user")))
    notified = pl.col("type").is_in(NOTIFIED)
    notifications = frame.filter(notified).select("user", "time", app="package").unique(maintain_order=True)
    return Records(_usages(frame.filter(~notified), options.until), notes, notifications=notifications)


def _lines(log: Log) -> pl.DataFrame:
    """The events that matter, each with the phone's user whose section it stands in."""
    frame = read_lines(log).with_columns(pl.col("line").str.extract(r"^\s*user=(\d+)\s*$").alias("user"))
    frame = frame.with_columns(pl.col("user").forward_fill().fill_null("0"))
    frame = frame.filter(pl.col("line").str.contains(LINE))
    parts = pl.col("line").str.extract_groups(EVENT).struct
    fields = {"1": "time", "2": "type", "3": "package", "4": "class", "5": "instance"}
    frame = frame.with_columns(parts.field(old).alias(new) for old, new in fields.items())
    frame = log.sieve.reject(frame, pl.col("type").is_null(), "a broken event line:", show="line")
    frame = frame.filter(pl.col("type").is_in(FRONT + BACK + DARK + NOTIFIED))
    return log.sieve.require(frame, "package", "time")


def _times(log: Log, frame: pl.DataFrame, options: Options) -> tuple[pl.DataFrame, tuple[str, ...]]:
    frame = frame.with_columns(ascii_digits("time"))
    sample = next(iter(frame["time"]), "")
    if re.fullmatch(r"\d{12,14}", sample):
        zone = Zone(options.zone)
        return take_time(log.sieve, frame, "time", zone.wall(epoch_utc("time"))), (zone.note,)
    if not sample or re.match(r"\d{4}-\d\d-\d\d ", sample):
        return take_time(log.sieve, frame, "time", parse("time", PLAIN)), ()
    return _localised(log, frame)


def _localised(log: Log, frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """As in 8/30/2025, 9:49 PM: a date in the phone's order, then a time that may lack its seconds."""
    parts = pl.col("time").str.extract_groups(LOCALISED).struct
    date, hour, minute, second, half = (parts.field(str(i)) for i in range(1, 6))
    clock = pl.format("{}:{}:{}{}", hour, minute, second.fill_null("00"), half)
    frame = frame.with_columns(pl.col("time").alias("text"), date.alias("date"), clock.alias("time"))
    frame = log.sieve.reject(frame, pl.col("date").is_null(), "not a possible time:", show="text")
    frame, order = take_local_times(log.sieve, frame, frame)
    return frame.with_columns(time="start"), (order.note(log.name),)


def _usages(events: pl.DataFrame, until: datetime | None) -> pl.DataFrame:
    """From each coming to the front until the next event that concerns it; between them what darkens the screen."""
    last = pl.col("time") if until is None else pl.max_horizontal("time", pl.lit(until, TIME))
    front, dark = pl.col("type").is_in(FRONT), pl.col("type").is_in(DARK)
    in_front = pl.when(front).then(pl.col("package")).forward_fill().over("user")
    concerns = front | dark | (pl.col("package") == in_front)
    return (
        events.filter(concerns.fill_null(False))
        .with_columns(pl.col("time").shift(-1).over("user").fill_null(last).alias("end"))
        .filter(front | dark)
        .select("user", "end", app="package", start="time", between=pl.when(dark).then(pl.lit("off", BETWEEN)))
    )
