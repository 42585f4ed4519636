"""Times: text to wall clock, UTC to a person's zone, and what no clock can have shown."""

from __future__ import annotations

import os
from datetime import datetime
from functools import cache
from pathlib import Path
from unicodedata import decimal

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.rows import Sieve
from stap.usage import TIME

EARLIEST, LATEST = datetime(1990, 1, 1), datetime(2100, 1, 1)
OFFSETS = (-12 * 60, 14 * 60)  # minutes east of UTC that a clock can be
REPEATS = (60, 30)  # minutes that a clock is put back in autumn; 30 on Lord Howe Island
OFFSET = r" ?(?:Z|[+-][0-9]{2}:[0-9]{2}|[+-][0-9]{4})$"
_TIME = "a time"  # no log has a column of this name
IMPOSSIBLE = ~pl.col(_TIME).is_between(EARLIEST, LATEST, closed="left")
SCRIPTS = range(0x80, 0x20000)  # where the digits of all other scripts are


def take_time(sieve: Sieve, frame: pl.DataFrame, name: str, parsed: pl.Expr) -> pl.DataFrame:
    """Put `parsed` in the place of column `name`; a row whose time is unreadable or impossible is bad."""
    frame = frame.with_columns(parsed.cast(TIME).alias(_TIME))
    frame = sieve.reject(frame, IMPOSSIBLE, "not a possible time:", show=name)
    time = frame.drop_in_place(_TIME).alias(name)  # the frame is our own by now
    return frame.replace_column(frame.get_column_index(name), time)


def take_spans(sieve: Sieve, frame: pl.DataFrame, **parsed: pl.Expr) -> pl.DataFrame:
    """Take the start and the end that are given. Without an end a record is an instant; none ends before it starts."""
    for name, time in parsed.items():
        frame = take_time(sieve, frame, name, time)
    if "end" not in frame.columns:
        return frame.with_columns(end="start")
    if "end" not in parsed:  # it was counted from the start
        frame = sieve.reject(frame, pl.col("end") >= LATEST, "not a possible end:", show="end")
    return sieve.reject(frame, pl.col("end") < pl.col("start"), "end before start:", show="end")


def parse(text: pl.Expr | str, layout: str) -> pl.Expr:
    """Text, or a column of it, in one strftime layout to a time, null where it does not fit."""
    text = pl.col(text) if isinstance(text, str) else text
    # Nearly every time in a log is new: a cache of those seen costs more than it saves.
    return text.str.to_datetime(layout, time_unit="us", strict=False, cache=False)


def iso_wall(text: pl.Expr) -> pl.Expr:
    """ISO text, with a space or a T, to the wall clock it shows; an offset is cut off, if there is such a one."""
    bare = text.str.strip_chars().str.replace("T", " ", literal=True).str.replace(OFFSET, "")
    time = pl.coalesce(parse(bare, layout) for layout in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"))
    return pl.when(_east(text).is_between(*OFFSETS)).then(time)


def iso_utc(text: pl.Expr) -> pl.Expr:
    """ISO text with an offset to UTC; without one it is UTC already."""
    return iso_wall(text) - pl.duration(minutes=_east(text))


def _east(text: pl.Expr) -> pl.Expr:
    """Minutes that its offset is ahead of UTC; beyond all OFFSETS where nobody could have written it."""
    parts = text.str.strip_chars().str.extract_groups(r":[0-9]{2}(?:\.[0-9]+)? ?([+-])([0-9]{2}):?([0-9]{2})$").struct
    hours, minutes = (parts.field(place).cast(pl.Int64) for place in ("2", "3"))
    total = pl.when(minutes < 60).then(hours * 60 + minutes).when(minutes.is_not_null()).then(OFFSETS[1] + 1)
    return pl.when(parts.field("1") == "-").then(-total).otherwise(total).fill_null(0)


def unrepeated(frame: pl.DataFrame) -> pl.DataFrame:
    """In the order of column `utc`. A wall clock that is put back by up to an hour stands still until that is over."""
    user = ["user"] if "user" in frame.columns else []
    frame = frame.sort(*user, "utc", maintain_order=True).with_columns(ahead=pl.col("start") - pl.col("utc"))
    turn = pl.any_horizontal(pl.col(name) != pl.col(name).shift() for name in (*user, "ahead")).fill_null(True)
    back = (pl.col("ahead").shift() - pl.col("ahead")).is_between(pl.duration(), pl.duration(hours=1), closed="right")
    same = pl.col("user") == pl.col("user").shift() if user else pl.lit(True)
    frame = frame.with_columns(stretch=turn.cum_sum(), until=pl.when(turn & same & back).then(pl.col("start").shift()))
    wait = pl.max_horizontal(pl.col("until").first().over("stretch") - pl.col("start"), pl.duration())
    return frame.with_columns(pl.col("start", "end") + wait).drop("utc", "ahead", "stretch", "until")


@cache
def epoch_utc(column: str) -> pl.Expr:
    """Milliseconds since 1970, as text, to UTC."""
    milliseconds = pl.col(column).cast(pl.Float64, strict=False)
    return pl.from_epoch(pl.when(milliseconds.is_between(0, 1e13)).then(milliseconds).cast(pl.Int64), "ms")


@cache
def ascii_digits(column: str) -> pl.Expr:
    """Persian, Arabic, Bengali and all other scripts' digits as 0-9."""
    return pl.col(column).str.replace_many(_digits())


@cache
def _digits() -> dict[str, str]:
    return {chr(code): str(decimal(chr(code))) for code in SCRIPTS if chr(code).isdecimal()}


class Zone:
    """The zone to show times in that are in UTC: the one asked for by its IANA name, or this machine's."""

    def __init__(self, asked: str | None) -> None:
        self.name = asked or _local_zone()
        if not _is_zone(self.name):
            remedy = "give an IANA name such as Europe/Berlin"
            raise BadInput(f"--zone {self.name}", "no such time zone", remedy)
        whose = "as asked" if asked else "this machine's zone; --zone names another"
        self.note = f"Times were in UTC and are shown in {self.name} ({whose})."

    def wall(self, utc: pl.Expr) -> pl.Expr:
        """A UTC time without a zone as what the clock on the wall showed.

        The hour that autumn repeats is told at half the pace, once and then on: 2:40 is 2:20 the first time and 2:50
        the second. So times keep their order, which a clock that goes back would lose.
        """
        shown = wall = self._shown(utc)
        for gap in REPEATS:
            span = pl.duration(minutes=gap)
            into = (shown - shown.dt.truncate(f"{gap}m")) / 2
            again = self._shown(utc - span) == shown
            slow = shown - into + pl.when(again).then(span / 2).otherwise(pl.duration())
            wall = pl.when(again | (self._shown(utc + span) == shown)).then(slow).otherwise(wall)
        return wall

    def _shown(self, utc: pl.Expr) -> pl.Expr:
        return utc.dt.replace_time_zone("UTC").dt.convert_time_zone(self.name).dt.replace_time_zone(None)


@cache
def _is_zone(name: str) -> bool:
    try:
        pl.Series([datetime(2020, 1, 1)]).dt.replace_time_zone(name)
    except (pl.exceptions.PolarsError, ValueError, TypeError):
        return False
    return True


def _local_zone() -> str:
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        name = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")[2]
    return name or "UTC"
