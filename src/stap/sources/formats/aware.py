"""AWARE `applications_foreground`: a row whenever an app comes to the front, in UTC milliseconds; instants.

Columns may stand in any order and more may be there. The user is the device_id and the app its package. is_system_app
is not heeded: Chrome has it too.
"""

from __future__ import annotations

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import take_time, to_wall, zone_name, zone_note
from stap.sources.reading.tables import label_columns, read_header, read_table, split
from stap.sources.reading.text import clean

NAME = "aware"
NEEDED = {"timestamp", "device_id", "package_name"}
SEPARATORS = (",", ";", "\t")


def sniff(head: Head) -> float:
    lines = head.lines(1)
    return 1.0 if lines and _separator(lines[0]) else 0.0


def _separator(line: str) -> str | None:
    for separator in SEPARATORS:
        if NEEDED.issubset(field.lower() for field in split(line, separator)):
            return separator
    return None


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    separator = _separator(next(iter(log.head().lines(1)), ""))
    if separator is None:
        raise BadInput(log.name, "not the columns of AWARE", f"it needs {', '.join(sorted(NEEDED))}", 1)
    zone = zone_name(options.zone)
    names, row = read_header(log, separator)
    frame = read_table(log, separator, label_columns(log, names, NEEDED, row), skip=row)
    frame = log.sieve.require(frame, "device_id", "package_name")
    milliseconds = pl.col("timestamp").cast(pl.Float64, strict=False)
    sane = pl.when(milliseconds.is_between(0, 1e13)).then(milliseconds).cast(pl.Int64)
    frame = take_time(log.sieve, frame, "timestamp", to_wall(pl.from_epoch(sane, "ms"), zone))
    table = frame.select(user="device_id", app="package_name", start="timestamp", end="timestamp")
    return Records(table, (zone_note(options.zone, zone),))
