"""Tsinghua App Usage: user, YYYYMMDDhhmmss, base station, app, bytes; every row is a network record, an instant.

What was read is held against the published counts. Apps are numbers, so there is no launcher to know or drop.
"""

from __future__ import annotations

import re

import polars as pl

from stap.sources.reading.base import Head, Log, Options, Records, beside_published
from stap.sources.reading.clock import parse, take_time
from stap.sources.reading.tables import read_table
from stap.sources.reading.text import clean
from stap.windows import VOCABULARY

NAME = "tsinghua"
COLUMNS = ["user", "time", "base station", "app", "bytes"]
ROW_SHAPE = re.compile(r"\d+([ \t])\d{14}\1\d+\1\d+\1\d+(\.\d+)?\s*")
PUBLISHED = {"users": 871, "apps": 2000, f"users with at most {VOCABULARY} apps": 846}


def sniff(head: Head) -> float:
    return 0.95 if ROW_SHAPE.fullmatch(head.first_line) else 0.0


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    shape = ROW_SHAPE.fullmatch(log.head().first_line)
    frame = read_table(log, shape[1] if shape else " ", COLUMNS, skip=0, quoted=False)
    frame = log.sieve.require(frame, *COLUMNS)
    frame = log.sieve.reject(frame, ~pl.col("user").str.contains(r"^\d+$"), "not a user number:", show="user")
    frame = take_time(log.sieve, frame, "time", parse("time", "%Y%m%d%H%M%S"))
    table = frame.select("user", "app", start="time", end="time")
    return Records(table, (beside_published("Tsinghua", PUBLISHED, _counts(table)),), judged=True, dataset=True)


def _counts(table: pl.DataFrame) -> dict[str, int]:
    apps_of = table.lazy().select("user", "app").unique().group_by("user").len().collect()
    few = apps_of.filter(pl.col("len") <= VOCABULARY)
    names = tuple(PUBLISHED)
    return dict(zip(names, (len(apps_of), table["app"].n_unique(), len(few)), strict=True))
