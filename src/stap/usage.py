"""The usage table: the one form every log takes, and the only border at which it is checked.

A usage is (user, app, start, end): one person had one app in front from `start` to `end`, on that person's wall clock.
Records are what a logger wrote. `launches` turns them into usages as a person makes them, the same app again included;
`merge` makes every run of one app one usage, as the paper does, from records or from launches alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from stap.errors import BadInput, first_line, short
from stap.files import as_path, replacing

TIME = pl.Datetime("us")
LAST = 2**63 - 1  # later than any time
SCHEMA: dict[str, pl.DataType] = {"user": pl.String(), "app": pl.String(), "start": TIME, "end": TIME}
HOME = "home"  # a fifth column, which a table of launches has
LAUNCHES: dict[str, pl.DataType] = {**SCHEMA, HOME: pl.Boolean()}
NOTIFICATIONS: dict[str, pl.DataType] = {"user": pl.String(), "app": pl.String(), "time": TIME}
BETWEEN = pl.Enum(["home", "off"])  # a home screen; a dark or locked screen, or nobody there
DAYS = 70_000  # either side of 1970: the years 1779 to 2161
GAP = 60.0  # seconds that one app may be away and still be the same launch
ENDINGS = (".parquet", ".csv")


def launches(records: pl.DataFrame, gap: float = GAP, whole: bool = True) -> pl.DataFrame:
    """Records of one app in a row are one launch while at most `gap` seconds and nothing else lie between them.

    What lies between apps are rows of the records whose column `between` says "home" or "off"; a log may have none, or
    no such column. Somebody whose log is of instants has no pauses to know: there any gap will do, unless this is not
    the `whole` log, but a piece too short to tell. The column `home` says whether a home screen was seen since the
    launch before it; null for somebody whose log shows none.
    """
    return _settle(records, partial(_join_launches, gap=gap, timeless=instants(records) if whole else []))


def merge(records: pl.DataFrame) -> pl.DataFrame:
    """Join neighbouring records of the same app, clip overlaps, sort by user and start.

    Records that start at the same instant keep the order they came in, so a log's own order decides.
    """
    return _settle(apps_only(records), _join_neighbours)


def apps_only(records: pl.DataFrame) -> pl.DataFrame:
    """Without the rows that only lie between."""
    return records.filter(pl.col("between").is_null()) if "between" in records.columns else records


def instants(records: pl.DataFrame) -> list[str]:
    """Whose log is of instants: several records, and none of them lasts."""
    records = apps_only(records)
    turn = (records["user"] != records["user"].shift()).fill_null(True).arg_true().to_numpy()
    if not len(turn):
        return []
    lasts = (records["end"] > records["start"]).to_numpy()
    stretches = pl.DataFrame(  # of one user: there are far fewer of them than records
        {
            "user": records["user"].gather(turn),
            "lasts": np.logical_or.reduceat(lasts, turn),
            "size": np.diff(turn, append=len(records)),
        }
    )
    people = stretches.group_by("user").agg(pl.col("lasts").any(), pl.col("size").sum())
    return people.filter(~pl.col("lasts") & (pl.col("size") > 1))["user"].sort().to_list()


def _settle(records: pl.DataFrame, join: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    """Joined in the order of time, and each end clipped to the next start."""
    if not _people_in_order(records):  # else whole people change places, which can wait until there are far fewer rows
        records = records.sort("user", "start", maintain_order=True)
    usages = join(records).sort("user", "start", maintain_order=True)
    next_start = pl.when(pl.col("user").shift(-1) == pl.col("user")).then(pl.col("start").shift(-1))
    return usages.with_columns(pl.min_horizontal("end", next_start))


def in_front(records: pl.DataFrame) -> pl.DataFrame:
    """Overlapping records as what was in front: whoever began last; when that ends, who is still open comes back.

    For logs of open apps, where `merge` would see that an app was opened over another but never the return.
    """
    rows: list[tuple[str, str, int, int]] = []
    apps = apps_only(records).sort("user", "start", maintain_order=True)
    for (user,), own in apps.group_by("user", maintain_order=True):
        times = (own[name].cast(pl.Int64).to_list() for name in ("start", "end"))
        rows += [(str(user), *row) for row in _returns(own["app"].to_list(), *times)]
    table = pl.DataFrame(rows, {"user": pl.String, "app": pl.String, "start": pl.Int64, "end": pl.Int64}, orient="row")
    table = table.with_columns(pl.col("start", "end").cast(TIME))
    if "between" not in records.columns:
        return table
    return pl.concat([records.filter(pl.col("between").is_not_null()), table], how="diagonal")


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
    return _rows_from(records.select(list(SCHEMA)), ~_again(records))


def _join_launches(records: pl.DataFrame, gap: float, timeless: list[str]) -> pl.DataFrame:
    """As `_join_neighbours`, and a new row also after a pause, or after anything that lies between."""
    if "between" in records.columns:
        breaks, homes = pl.col("between").is_not_null(), (pl.col("between") == "home").fill_null(False)
        records = apps_only(records.with_columns(breaks.cum_sum().alias("breaks"), homes.cum_sum().alias("homes")))
    else:
        records = records.with_columns(breaks=0, homes=0)
    again = _again(records)
    records = _open_until(records, again)
    late = pl.col("start") - pl.col("end").shift() > pl.duration(microseconds=round(gap * 1e6))
    late &= ~pl.col("user").is_in(timeless)
    rises = {name: pl.col(name) > pl.col(name).shift() for name in ("breaks", "homes")}
    records = records.with_columns(
        ((pl.col("user") == pl.col("user").shift()) & rises["homes"]).fill_null(False).alias(HOME),
        (~again | late | rises["breaks"]).alias("new"),
    )
    found = _rows_from(records.select(list(LAUNCHES)), records["new"])
    return found.with_columns(pl.when(pl.col(HOME).any().over("user")).then(HOME).alias(HOME))


def _again(records: pl.DataFrame) -> pl.Series:
    """Whether a row has the user and the app of the row before."""
    same = [pl.col(name) == pl.col(name).shift() for name in ("user", "app")]
    return records.select((same[0] & same[1]).fill_null(False)).to_series()


def _open_until(records: pl.DataFrame, again: pl.Series) -> pl.DataFrame:
    """Each end is the latest of its run so far, so that launches merge to what their records merge to."""
    goes_back = records.select((pl.col("end") < pl.col("end").shift()) & again).to_series()
    return records.with_columns(pl.col("end").cum_max().over((~again).cum_sum())) if goes_back.any() else records


def _rows_from(records: pl.DataFrame, new: pl.Series) -> pl.DataFrame:
    """The rows that are new, each to the latest end of those up to the next."""
    first = new.arg_true().to_numpy()
    if not len(first):
        return records
    end = np.maximum.reduceat(records["end"].to_numpy(), first)
    return records.gather(first).with_columns(pl.Series("end", end, TIME))


def validate(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The border check: the columns, their types, no nulls, end >= start. Inside the house nobody checks again."""
    if not isinstance(table, pl.DataFrame):
        raise BadInput(where, f"{short(table)} is no polars DataFrame", "a usage table has user, app, start, end")
    missing = [name for name in SCHEMA if name not in table.columns]
    if missing:
        raise BadInput(where, f"no column {missing[0]!r}", "a usage table has user, app, start, end")
    schema = LAUNCHES if HOME in table.columns else SCHEMA
    for name in ("start", "end"):
        if (beyond := impossible(table[name])) is not None and beyond.any():
            row = int(beyond.arg_true()[0]) + 1
            raise BadInput(where, f"{name} is no time of ours", "mend the row or leave it out", row)
    try:
        table = table.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    except pl.exceptions.PolarsError as error:
        why = f"a column has the wrong type ({first_line(error)})"
        raise BadInput(where, why, "user and app are text, start and end are times, home is true or false") from None
    if table.is_empty():
        raise BadInput(where, "no app usage in it", "check that it is the right file, or try --keep-system")
    for bad, why in (
        (pl.any_horizontal(pl.col(*SCHEMA).is_null()), "an empty field"),
        (pl.col("end") < pl.col("start"), "end before start"),
    ):
        found = table.select(bad.arg_max(), bad.any().alias("any"))
        if found["any"][0]:
            raise BadInput(where, why, "mend the row or leave it out", found.item(0, 0) + 1)
    return table


def validate_notifications(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The same of the table beside: user, app, time, and no nulls."""
    remedy = "notifications have user, app (text) and time"
    if not isinstance(table, pl.DataFrame):
        raise BadInput(where, f"{short(table)} is no polars DataFrame", remedy)
    if "time" in table.columns and (beyond := impossible(table["time"])) is not None and beyond.any():
        raise BadInput(where, "time is no time of ours", "mend the row or leave it out", int(beyond.arg_true()[0]) + 1)
    try:
        table = table.select(pl.col(name).cast(dtype) for name, dtype in NOTIFICATIONS.items())
    except pl.exceptions.PolarsError as error:
        raise BadInput(where, first_line(error), remedy) from None
    if sum(table.null_count().row(0)):
        raise BadInput(where, "an empty field", remedy)
    return table


def impossible(times: pl.Series) -> pl.Series | None:
    """Which are beyond all calendars, by their numbers: polars panics when it shows or casts them. None: no times."""
    days = {"ns": 86_400_000_000_000, "us": 86_400_000_000, "ms": 86_400_000}
    if isinstance(times.dtype, pl.Datetime):
        units = days[times.dtype.time_unit]
    elif times.dtype == pl.Date or times.dtype.is_integer():
        units = 1 if times.dtype == pl.Date else days["us"]
    else:
        return None
    possible = pl.col("time").to_physical().is_between(-DAYS * units, DAYS * units).fill_null(True)
    return times.alias("time").to_frame().select(~possible).to_series()


def save(table: pl.DataFrame, path: Path, notifications: pl.DataFrame | None = None) -> None:
    """Write .parquet or .csv, beside and renamed: a reader never sees half a file. Notifications get their own file."""
    path = as_path(path)
    if path.suffix not in ENDINGS:
        raise BadInput(str(path), f"cannot write {path.suffix or 'a file without an ending'}", "use .parquet or .csv")
    _write(table, path)
    if notifications is None or notifications.is_empty():
        notifications_of(path).unlink(missing_ok=True)  # of a table that was here before
    else:
        _write(notifications, notifications_of(path))


def notifications_of(path: Path) -> Path:
    """Where the notifications of a usage table lie: beside it, as my.notifications.parquet for my.parquet."""
    return path.with_suffix(".notifications" + path.suffix)


def table_of(path: Path) -> Path | None:
    """The usage table beside which these notifications lie, if they are any."""
    if ".notifications." not in path.name:
        return None
    table = path.with_name(path.name.replace(".notifications.", "."))
    return table if table != path and notifications_of(table) == path and table.is_file() else None


def _write(table: pl.DataFrame, path: Path) -> None:
    with replacing(path) as draft:
        try:
            with open(draft, "wb") as file:  # by its path polars wants a name in UTF-8
                if path.suffix == ".parquet":
                    table.write_parquet(file)
                else:
                    table.write_csv(file, datetime_format="%Y-%m-%d %H:%M:%S%.f")
        except pl.exceptions.PolarsError as error:  # a full disk has many names
            raise OSError(first_line(error)) from None


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
