"""Dates and times as a phone's language writes them. Which number is the day is settled from a whole column.

Every order is tried. The right one is that under which the most dates exist and the column runs one way only (an
export is newest first); 1/12, 1/13, 2/1 runs one way as day/month and jumps as month/day.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import polars as pl

from stap.errors import BadInput, short
from stap.sources.reading.rows import ROW, Sieve

ORDERS = {"dmy": "day/month/year", "mdy": "month/day/year", "ymd": "year/month/day"}
# \d is the digits of every script, of which ascii_digits has made 0-9; one it does not know is no part of a date.
NUMBERS = r"^\D*([0-9]{1,4})\D+([0-9]{1,2})\D+([0-9]{1,4})\D*$"
TIMES = r"^(\D*)([0-9]{1,2})\D+([0-9]{1,2})\D+([0-9]{1,2})(\D*)$"
BLANKS = r"[\s.\u{202f}\u{a0}]"
BUDDHIST = 543  # Thai phones count from the Buddha: 2566 is 2023


def words(text: str) -> set[str]:
    """A vocabulary: entries between bars or on lines of their own."""
    return {word.strip() for line in text.splitlines() for word in line.split("|") if word.strip()}


# Halves of the day as phones write them, without dots and spaces ("p. m." is pm).
AFTERNOON = words("pm | p | μμ | 下午 | 오후 | 午後 | ch | م | بظ | بعدازظهر | du | odp | ip | em | nachm | пп")
MORNING = words("am | a | πμ | 上午 | 오전 | 午前 | sa | ص | قظ | قبلازظهر | de | dop | ap | fm | vorm | дп")
WHOLE_DAY = {"", "s", "h", "uhr"}


@dataclass(frozen=True)
class DateOrder:
    """How a file writes its dates."""

    letters: str  # one of ORDERS
    newest_first: bool
    sure: bool

    def note(self, where: str) -> str:
        guess = "" if self.sure else ", which is a guess: another order fits as well"
        return f"{where}: dates were read as {ORDERS[self.letters]}{guess}."


def take_local_times(sieve: Sieve, frame: pl.DataFrame, every: pl.DataFrame) -> tuple[pl.DataFrame, DateOrder]:
    """Adds `start` from the texts in `date` and `time`; the order of the dates is that of `every` row of the log."""
    days, order = _read_dates(sieve, every)
    frame = frame.join(days, on=ROW, maintain_order="left").with_columns(second=_second_of_day())
    frame = sieve.reject(frame, pl.col("second").is_null(), "not a possible time:", show="time")
    return frame.with_columns(start=pl.col("day") + pl.duration(seconds="second")), order


def _read_dates(sieve: Sieve, frame: pl.DataFrame) -> tuple[pl.DataFrame, DateOrder]:
    """ROW and `day` for every row with a date, and the order under which they are dates."""
    if frame.is_empty():
        raise BadInput(sieve.where, "no row with a date", "check that it is the right file")
    parts = pl.col("date").str.extract_groups(NUMBERS).struct
    fields = {f"n{i}": parts.field(str(i)) for i in (1, 2, 3)}
    numbers = frame.select(ROW, "date", second=_second_of_day(), **fields)
    tried = numbers.with_columns(_dates(order).alias(order) for order in ORDERS)
    walks = {order: _Walk(*tried.select(_walk(order)).row(0)) for order in ORDERS}
    if all(walk.missing == frame.height for walk in walks.values()):
        raise BadInput(sieve.where, f"not a date: {short(frame['date'][0])}", "check the Date column", frame[ROW][0])
    best = min(walk.score for walk in walks.values())
    fitting = [order for order in ORDERS if walks[order].score[:2] == best[:2]]
    order = _likeliest([order for order in fitting if walks[order].score == best], frame)
    sure = all(tried[other].equals(tried[order]) for other in fitting)  # as for 5/5/24, whichever comes first
    dated = tried.select(ROW, "date", day=order)
    dated = sieve.reject(dated, pl.col("day").is_null(), "not a possible date:", show="date")
    return dated.drop("date"), DateOrder(order, walks[order].back >= walks[order].forth, sure)


class _Walk(NamedTuple):
    """How dates under one order go from row to row."""

    missing: int  # dates that do not exist
    forth: int  # steps on in time
    back: int
    way: int  # seconds, whichever way

    @property
    def score(self) -> tuple[int, int, int]:
        """Dates that do not exist, steps against the run, length of the way: less is better."""
        return self.missing, min(self.forth, self.back), self.way


@cache
def _walk(order: str) -> list[pl.Expr]:
    """What a walk holds, of the dates in column `order`."""
    time = pl.col(order) + pl.duration(seconds="second")
    steps = time.drop_nulls().diff().dt.total_seconds()
    counts = (pl.col(order).is_null(), steps > 0, steps < 0, steps.abs())
    return [count.sum().alias(name) for name, count in zip(_Walk._fields, counts, strict=True)]


@cache
def _dates(order: str) -> pl.Expr:
    """The numbers as dates under one order, null where there is no such day."""
    field = {letter: pl.col(f"n{place}") for place, letter in enumerate(order, 1)}
    brief = field["y"].str.len_chars() <= 2
    year = field["y"].cast(pl.Int32)
    year = pl.when(brief).then(year + 2000).when(year > 2400).then(year - BUDDHIST).otherwise(year)
    known = pl.when(year.is_between(1990, 2099)).then(year)
    text = pl.format("{}-{}-{}", known, field["m"], field["d"])
    return text.str.to_datetime("%Y-%m-%d", time_unit="us", strict=False)


def _likeliest(orders: list[str], frame: pl.DataFrame) -> str:
    """Among orders that fit equally: month first only where the manner is American (1/31/24, or AM and PM)."""
    date, time = str(frame["date"][0]), str(frame["time"][0])
    short_year = len(date.rpartition("/")[2]) == 2
    american = "/" in date and (short_year or time.strip()[-1:].lower() == "m")
    wish = ("mdy", "dmy", "ymd") if american else ("dmy", "mdy", "ymd")
    return next(order for order in wish if order in orders)


@cache
def _second_of_day() -> pl.Expr:
    """From the text in `time`, on a 24 or 12 hour clock; null where it is no time."""
    parts = pl.col("time").str.extract_groups(TIMES).struct
    half = pl.concat_str(parts.field("1"), parts.field("5")).str.to_lowercase().str.replace_all(BLANKS, "")
    hour, minute, second = (parts.field(str(i)).cast(pl.Int64) for i in (2, 3, 4))
    hour = (
        pl.when(half.is_in(AFTERNOON) & hour.is_between(1, 12))
        .then(hour % 12 + 12)
        .when(half.is_in(MORNING) & (hour <= 12))
        .then(hour % 12)
        .when(half.is_in(WHOLE_DAY))
        .then(hour)
    )
    return pl.when((hour < 24) & (minute < 60) & (second < 60)).then(hour * 3600 + minute * 60 + second)
