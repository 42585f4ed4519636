"""Where the people of a usage table lie in its file, so that they can be read part by part: a fleet fills no memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from stap.errors import BadInput
from stap.sources.formats.plain import PARQUET, unheard
from stap.sources.reading.base import Rows
from stap.sources.reading.trial import check
from stap.usage import LAUNCHES, NOTIFICATIONS, SCHEMA, notifications_of

USAGES = 4_000  # of a shard at least: a second of work, so that in the end nobody waits long for another
_LOOK = 1 << 20  # rows whose users are looked at at once


def shards(path: Path) -> list[Rows] | None:
    """Whole people, in the order of the table; None where it is to be read at once.

    That is any other log than a usage table as Parquet, and one whose people are not in order, each in one place.
    """
    if not path.is_file():  # a pipe can be read only once
        return None
    try:
        with open(path, "rb") as file:
            if file.read(len(PARQUET)) != PARQUET:
                return None
        with unheard():
            lazy = pl.scan_parquet(path, glob=False)
            if dict(lazy.collect_schema()) not in (SCHEMA, LAUNCHES):
                return None
            rows = _tried(path, LAUNCHES)
            if notifications_of(path).suffix == ".parquet" and notifications_of(path).is_file():
                _tried(notifications_of(path), NOTIFICATIONS)  # of which every shard reads a part
            first = [begin for part in _begins(lazy, rows) for begin in part]
    except (BadInput, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None  # whoever reads it will say what is wrong
    return [Rows(low, high - low) for low, high in pairwise([*_chosen(np.array(first)), rows])] if first else None


def _tried(path: Path, wanted: Collection[str]) -> int:
    """Its rows; BadInput where they are not to be decoded."""
    lazy = pl.scan_parquet(path, glob=False)
    rows = int(lazy.select(pl.len()).collect().item())
    check(path, [name for name in lazy.collect_schema() if name in wanted], rows, str(path))
    return rows


def _begins(lazy: pl.LazyFrame, rows: int) -> Iterator[list[int]]:
    """The rows at which users begin; ValueError where one comes after somebody who should stand behind."""
    before: str | None = None
    for low in range(0, rows, _LOOK):
        users = lazy.select("user").slice(low, _LOOK).collect()["user"]
        turn = (users != users.shift(1, fill_value=before)).fill_null(True)
        names = users.filter(turn)
        if users.null_count() or not (names > names.shift(1, fill_value=before)).fill_null(True).all():
            raise ValueError
        before = users[-1]
        yield (turn.arg_true() + low).to_list()


def _chosen(first: np.ndarray) -> list[int]:
    """Of these rows the first, and then always the next that lies far enough behind."""
    chosen = [0]
    while (place := int(np.searchsorted(first, chosen[-1] + USAGES))) < len(first):
        chosen.append(int(first[place]))
    return chosen
