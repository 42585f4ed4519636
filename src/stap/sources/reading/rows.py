"""Bad rows: the first one stops the import and is named; with --skip-bad-rows they are left out and counted."""

from __future__ import annotations

from functools import cache

import polars as pl

from stap.errors import BadInput, short
from stap.usage import impossible

MEND = "mend the row or leave such rows out with --skip-bad-rows"
LONGEST_NAME = 4096  # bytes, as engine/include/stap.h has it
ROW = "row"  # the column that holds a row's physical place in its file, counted from 1


class Sieve:
    """Holds back the bad rows of one file."""

    def __init__(self, where: str, skip: bool) -> None:
        self.where, self.skip = where, skip
        self.skipped = 0

    def fault(self, row: int, why: str, remedy: str = MEND, count: int = 1) -> None:
        """One row is bad: stop here, or count it and go on."""
        if not self.skip:
            raise BadInput(self.where, why, remedy, row)
        self.skipped += count

    def reject(self, frame: pl.DataFrame, bad: pl.Expr, why: str, show: str | None = None) -> pl.DataFrame:
        """The frame without its bad rows. `bad` may be null, which is bad too; `show` is the column to quote."""
        mask = frame.select(bad.fill_null(True)).to_series()
        if not mask.any():
            return frame
        first = frame.slice(mask.arg_max() or 0, 1)
        quoted = "" if show is None else f" {_quoted(first[show])}"
        self.fault(int(first[ROW].item()), why + quoted, count=int(mask.sum()))
        return frame.filter(~mask)

    def require(self, frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Every one of the columns has something in it, and nothing too long."""
        return self._reject_all(frame, {**_empty(columns), **_too_long(columns)})

    def bounded(self, frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """No name is longer than the engine takes."""
        return self._reject_all(frame, _too_long(columns))

    def _reject_all(self, frame: pl.DataFrame, faults: dict[str, pl.Expr]) -> pl.DataFrame:
        """One look for all faults, by what to say of them, is enough for nearly every table."""
        if any(frame.select(bad.any().alias(why) for why, bad in faults.items()).row(0)):
            for why, bad in faults.items():
                frame = self.reject(frame, bad, why)
        return frame


@cache
def _empty(columns: tuple[str, ...]) -> dict[str, pl.Expr]:
    return {f"no {name} in it": pl.col(name).is_null() | (pl.col(name) == "") for name in columns}


@cache
def _too_long(columns: tuple[str, ...]) -> dict[str, pl.Expr]:
    why = f"is longer than {LONGEST_NAME:,} bytes"
    return {f"{name} {why}": (pl.col(name).str.len_bytes() > LONGEST_NAME).fill_null(False) for name in columns}


def _quoted(value: pl.Series) -> str:
    """One cell, cut where it is long; a time beyond all calendars as its number."""
    beyond = impossible(value)
    text = (value if beyond is None or not beyond.any() else value.to_physical()).cast(pl.String).item()
    return "nothing" if text is None else short(text)
