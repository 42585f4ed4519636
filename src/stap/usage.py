"""The usage table: the one form every log takes, and the only border at which it is checked.

A usage is (user, app, start, end): one person had one app in front from `start` to `end`, on that person's wall clock.
Records are what a logger wrote; `merge` turns records into usages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from stap.errors import BadInput
from stap.files import replacing

TIME = pl.Datetime("us")
LAST = 2**63 - 1  # later than any time
SCHEMA: dict[str, pl.DataType] = {"user": pl.String(), "app": pl.String(), "start": TIME, "end": TIME}


def merge(records: pl.DataFrame) -> pl.DataFrame:
    """Join neighbouring records of the same app, clip overlaps, sort by user and start.

    Records that start at the same instant keep the order they came in, so a log's own order decides.
    """
    if _people_in_order(records):  # then whole people change places, which can wait until there are far fewer rows
        usages = _join_neighbours(records).sort("user", "start", maintain_order=True)
    else:
        usages = _join_neighbours(records.sort("user", "start", maintain_order=True))
    next_start = pl.when(pl.col("user").shift(-1) == pl.col("user")).then(pl.col("start").shift(-1))
    return usages.with_columns(pl.min_horizontal("end", next_start))


def in_front(records: pl.DataFrame) -> pl.DataFrame:
    """Overlapping records as what was in front: whoever began last; when that ends, who is still open comes back.

    For logs of open apps, where `merge` would see that an app was opened over another but never the return.
    """
    rows: list[tuple[str, str, int, int]] = []
    for (user,), own in records.sort("user", "start", maintain_order=True).group_by("user", maintain_order=True):
        times = (own[name].cast(pl.Int64).to_list() for name in ("start", "end"))
        rows += [(str(user), *row) for row in _returns(own["app"].to_list(), *times)]
    table = pl.DataFrame(rows, {"user": pl.String, "app": pl.String, "start": pl.Int64, "end": pl.Int64}, orient="row")
    return table.with_columns(pl.col("start", "end").cast(TIME))


def _returns(apps: list[str], starts: list[int], ends: list[int]) -> Iterator[tuple[str, int, int]]:
    """(app, from, to) one after the other; an app over which another opens at once was never in front before it."""
    opened: list[tuple[str, int]] = []  # (app, end), the last on top
    now = 0
    for app, start, end in zip([*apps, ""], [*starts, LAST], [*ends, LAST], strict=True):
        while opened and now < start:
            top, until = opened[-1]
            if until > now:
                yield top, now, min(until, start)
                now = min(until, start)
            if until <= now:
                opened.pop()
        now = start
        if end > start:
            opened.append((app, end))
        elif app:
            yield app, start, start


def _people_in_order(records: pl.DataFrame) -> bool:
    """Whether each user's records stand together, in the order of time."""
    user, start = pl.col("user"), pl.col("start")
    turn = (user != user.shift()).fill_null(True)
    back = ((start < start.shift()) & ~turn).any().alias("back")
    seen = records.select(user.filter(turn).is_duplicated().any().alias("again"), back)
    return not (seen["again"][0] or seen["back"][0])


def _join_neighbours(records: pl.DataFrame) -> pl.DataFrame:
    """A run of one user's one app becomes one row: the first start, and the latest instant that any of them covers."""
    new = ((pl.col("user") != pl.col("user").shift()) | (pl.col("app") != pl.col("app").shift())).fill_null(True)
    first = np.flatnonzero(records.select(new).to_series().to_numpy())
    if not len(first):
        return records.select(list(SCHEMA))
    end = np.maximum.reduceat(records["end"].to_numpy(), first)
    return records.select("user", "app", "start").gather(first).with_columns(pl.Series("end", end, TIME))


def validate(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The border check: the columns, their types, no nulls, end >= start. Inside the house nobody checks again."""
    missing = [name for name in SCHEMA if name not in table.columns]
    if missing:
        raise BadInput(where, f"no column {missing[0]!r}", "a usage table has user, app, start, end")
    try:
        table = table.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    except pl.exceptions.PolarsError as error:
        why = f"a column has the wrong type ({str(error).splitlines()[0]})"
        raise BadInput(where, why, "user and app are text, start and end are times") from None
    if table.is_empty():
        raise BadInput(where, "no app usage in it", "check that it is the right file, or try --keep-system")
    for bad, why in (
        (pl.any_horizontal(pl.all().is_null()), "an empty field"),
        (pl.col("end") < pl.col("start"), "end before start"),
    ):
        row = table.select(bad.arg_max(), bad.any().alias("any"))
        if row["any"][0]:
            raise BadInput(where, why, "mend the row or leave it out", row.item(0, 0) + 1)
    return table


def save(table: pl.DataFrame, path: Path) -> None:
    """Write .parquet or .csv, beside and renamed: a reader never sees half a file."""
    if path.suffix not in (".parquet", ".csv"):
        raise BadInput(str(path), f"cannot write {path.suffix or 'a file without an ending'}", "use .parquet or .csv")
    with replacing(path) as draft:
        if path.suffix == ".parquet":
            table.write_parquet(draft)
        else:
            table.write_csv(draft, datetime_format="%Y-%m-%d %H:%M:%S%.f")


def only_users(table: pl.DataFrame, wanted: Sequence[str], where: str) -> pl.DataFrame:
    """The rows of some users, each named alone or with others between commas; a slip is worth hearing about."""
    users = set(table["user"].unique())
    chosen = set(names(wanted, users) or [])
    if not chosen:
        raise BadInput(where, "no user is named", f"the users are {some(users)}")
    if unknown := sorted(chosen - users):
        raise BadInput(where, f"no user {unknown[0]!r}", f"the users are {some(users)}")
    return table.filter(pl.col("user").is_in(list(chosen)))


def names(wanted: Sequence[str] | None, users: Collection[str] = ()) -> list[str] | None:
    """Names given one by one or between commas; one that is a user's, comma and all, is taken whole."""
    if wanted is None:
        return None
    return [name for value in wanted for name in ([value] if value in users else value.split(",")) if name]


def some(users: Collection[str]) -> str:
    """The first five names, and an ellipsis where there are more."""
    return ", ".join([*sorted(users)[:5], *(["..."] if len(users) > 5 else [])])
