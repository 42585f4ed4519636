"""LSApp: tab-separated user, session, time, app, event; every row is a record at an instant of that app.

What was read is held against the counts its authors published. They had taken out the apps that nobody chooses.
"""

from __future__ import annotations

import re

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.base import Head, Log, Options, Records, beside_published
from stap.sources.reading.clock import parse, take_time
from stap.sources.reading.tables import read_header, read_table
from stap.sources.reading.text import clean

NAME = "lsapp"
COLUMNS = ["user_id", "session_id", "timestamp", "app_name", "event_type"]
EVENTS = ["Opened", "Closed", "User Interaction", "Broken"]
ROW_SHAPE = re.compile(r"\d+\t\d+\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\t[^\t]+\t(Opened|Closed|User Interaction|Broken)\s*")
PUBLISHED = {"users": 292, "apps": 87, "usage records": 599_635, "sessions": 76_247}


def sniff(head: Head) -> float:
    if head.first_line.split("\t") == COLUMNS:
        return 1.0
    return 0.95 if ROW_SHAPE.fullmatch(head.first_line) else 0.0


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    first, row = read_header(log, "\t")
    if len(first) != len(COLUMNS):
        raise BadInput(log.name, "not the five columns of LSApp", f"they are {', '.join(COLUMNS)}, tabs between", row)
    frame = read_table(log, "\t", COLUMNS, skip=row if first == COLUMNS else row - 1, quoted=False)
    frame = log.sieve.require(frame, *COLUMNS)
    frame = take_time(log.sieve, frame, "timestamp", parse("timestamp", "%Y-%m-%d %H:%M:%S"))
    frame = log.sieve.reject(frame, ~pl.col("event_type").is_in(EVENTS), "not an event of LSApp:", show="event_type")
    frame = frame.with_columns(moved=_moved())
    table = frame.select(user="user_id", app="app_name", start="timestamp", end=_end())
    return Records(table, (beside_published("LSApp", PUBLISHED, _counts(frame)),), judged=True, dataset=True)


def _moved() -> pl.Expr:
    """Whether a row has another user or app than the row before."""
    user, app = pl.col("user_id"), pl.col("app_name")
    return ((user != user.shift()) | (app != app.shift())).fill_null(True)


def _end() -> pl.Expr:
    """A row covers its app until the next row of it, unless that is an Opened: only there can a new launch begin."""
    time, following = pl.col("timestamp"), pl.col("timestamp").shift(-1)
    goes_on = ~pl.col("moved").shift(-1) & (pl.col("event_type").shift(-1) != "Opened") & (following > time)
    return pl.when(goes_on).then(following).otherwise(time)


def _counts(frame: pl.DataFrame) -> dict[str, int]:
    """As the authors count: a new record where app or user changes, or at an Opened a minute after the row before."""
    moved, session, time = (pl.col(name) for name in ("moved", "session_id", "timestamp"))
    late = (pl.col("event_type") == "Opened") & (time - time.shift() > pl.duration(minutes=1))
    changes = frame.lazy().select(
        "user_id",
        "app_name",
        "session_id",
        record=(moved | late).fill_null(True),
        any=(moved | late | (session != session.shift())).fill_null(True),
    )
    changes_only = changes.filter("any").collect()  # a fifth of the rows, and every value occurs in it
    return {
        "users": changes_only["user_id"].n_unique(),
        "apps": changes_only["app_name"].n_unique(),
        "usage records": int(changes_only["record"].sum()),
        "sessions": changes_only.select("user_id", "session_id").n_unique(),
    }
