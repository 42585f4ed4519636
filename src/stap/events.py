"""Events, and people's usages as arrays: the only place where a clock becomes minutes and an hour.

An event is (A, C, T, H): app, action, minutes, hour of day. Every usage gives two, open then close, and both carry the
same label: the app of the next usage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stap import usage

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Flags = NDArray[np.int8]

OPEN, CLOSE = 1, 0
NO_LABEL = -1  # a user's last usage: nobody knows what came next
UNKNOWN = -1  # whether a home screen came before: the log does not show any
DAY = 24 * 60.0
EPOCH = datetime(1970, 1, 1)  # a wall clock's minutes count from here

Ranking = list[tuple[str, float]]  # apps with their probabilities, best first


class Event(NamedTuple):
    """(A, C, T, H) of the paper, with the app's real name."""

    app: str
    action: int  # OPEN or CLOSE
    minutes: float  # on the user's wall clock
    hour: float  # [0, 24)


class Moment(NamedTuple):
    """When somebody asks: a launch comes now; or it comes WHENEVER, nobody knows when."""

    minutes: float
    hour: float

    @property
    def whenever(self) -> bool:
        return self.minutes == 1e300


WHENEVER = Moment(1e300, 0.0)
AT_ONCE = 1.0  # minutes: a launch after a longer pause is one for which somebody took the phone up again


class Usages(NamedTuple):
    """One person's usages as arrays: codes in order of first use, minutes since 1970.

    Neighbours may have the same app where these are launches, and differ where they are merged usages.
    """

    app: Ints  # (usages,)
    start: Floats  # (usages,)
    end: Floats  # (usages,)
    home: Flags | None = None  # (usages,) 1: from a home screen, 0: not, UNKNOWN; None: nobody knows of any

    @property
    def homes(self) -> Flags:
        return np.full(len(self.app), UNKNOWN, np.int8) if self.home is None else self.home

    def take(self, rows: slice | Bools) -> Usages:
        return Usages(self.app[rows], self.start[rows], self.end[rows], self.homes[rows])

    def together(self, other: Usages) -> Usages:
        """Both, by start; where two begin at once these come first. The other's codes mean the same apps."""
        start = np.concatenate([self.start, other.start])
        order = np.argsort(start, kind="stable")
        app, end = np.concatenate([self.app, other.app]), np.concatenate([self.end, other.end])
        return Usages(app[order], start[order], end[order], np.concatenate([self.homes, other.homes])[order])

    def renumbered(self) -> Usages:
        """With codes in order of first use again, after something was taken out."""
        return self._replace(app=by_first_use(self.app)[1])


def tidy(usages: Usages, gap: float = math.inf) -> Usages:
    """Sorted by start, neighbours of one app at most `gap` minutes apart joined, ends clipped, codes renumbered.

    What was joined has no home screen of its own, so nobody knows of any.
    """
    if not len(usages.app):
        return usages
    app, start, end, _ = usages
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        app, start, end = app[order], start[order], end[order]
    apart = (app[1:] != app[:-1]) | (start[1:] - end[:-1] > gap)
    first = np.flatnonzero(np.concatenate([[True], apart]))
    app, start, end = app[first], start[first], np.maximum.reduceat(end, first)
    end[:-1] = np.minimum(end[:-1], start[1:])
    return Usages(app, start, np.maximum(end, start)).renumbered()


Person = tuple[str, tuple[str, ...], Usages]  # user, the real names of the codes, usages


@dataclass(frozen=True)
class Corpus:
    """Many people's usages end to end: user u owns the rows offsets[u]:offsets[u+1].

    App codes are local to a user, 0..len(apps[u])-1 in order of first use, so that no identity crosses users.
    Minutes count from 1970 on the user's wall clock, in float64: exact to well under a microsecond.
    Neighbours may have the same app where the usages are launches (`from_table`), and differ where `merged` made them.
    """

    users: tuple[str, ...]
    apps: tuple[tuple[str, ...], ...]  # apps[u][code] is the real name
    offsets: Longs  # (users + 1,)
    app: Ints  # (usages,)
    start: Floats  # (usages,) minutes
    end: Floats  # (usages,)
    home: Flags = None  # type: ignore[assignment]  # (usages,) 1: from a home screen, 0: not, UNKNOWN (the default)

    def __post_init__(self) -> None:
        if self.home is None:
            object.__setattr__(self, "home", np.full(len(self.app), UNKNOWN, np.int8))

    @classmethod
    def of(cls, people: Iterable[Person]) -> Corpus:
        """People one after the other."""
        members = list(people)
        logs = [usages for _, _, usages in members]
        return cls(
            users=tuple(user for user, _, _ in members),
            apps=tuple(names for _, names, _ in members),
            offsets=np.cumsum([0, *(len(log.app) for log in logs)]).astype(np.int64),
            app=np.concatenate([np.empty(0, np.int32), *(log.app for log in logs)]).astype(np.int32),
            start=np.concatenate([np.empty(0), *(log.start for log in logs)]),
            end=np.concatenate([np.empty(0), *(log.end for log in logs)]),
            home=np.concatenate([np.empty(0, np.int8), *(log.homes for log in logs)]),
        )

    @cached_property
    def label(self) -> Ints:
        """(usages,) the app of the user's next usage, NO_LABEL for the last."""
        label = np.full(len(self.app), NO_LABEL, np.int32)
        label[:-1] = self.app[1:]
        label[self.offsets[1:] - 1] = NO_LABEL
        return label

    @cached_property
    def app_counts(self) -> Longs:
        """(users,) how many distinct apps each has."""
        return np.array([len(names) for names in self.apps], np.int64)

    def rows(self, user: int) -> slice:
        return slice(int(self.offsets[user]), int(self.offsets[user + 1]))

    def usages(self, user: int) -> Usages:
        rows = self.rows(user)
        return Usages(self.app[rows], self.start[rows], self.end[rows], self.home[rows])

    def everybody(self) -> list[Usages]:
        return [self.usages(user) for user in range(len(self.users))]

    def people(self) -> Iterator[Person]:
        for user, (name, apps) in enumerate(zip(self.users, self.apps, strict=True)):
            yield name, apps, self.usages(user)

    def events(self, user: int, rows: slice | None = None) -> Iterator[tuple[Event, Event]]:
        """(open, close) of each usage of a user, or of the rows given, with real app names."""
        names, rows = self.apps[user], rows or self.rows(user)
        start, end = self.start[rows], self.end[rows]
        columns = (self.app[rows], start, hour_of_day(start), end, hour_of_day(end))
        for code, opens, open_hour, closes, close_hour in zip(*(c.tolist() for c in columns), strict=True):
            yield Event(names[code], OPEN, opens, open_hour), Event(names[code], CLOSE, closes, close_hour)

    def labels(self, user: int, rows: slice | None = None) -> list[str | None]:
        """The real name of each usage's label; None for the user's last."""
        names = self.apps[user]
        return [None if code == NO_LABEL else names[code] for code in self.label[rows or self.rows(user)].tolist()]

    def select(self, users: Longs) -> Corpus:
        """The corpus of some users only, in the order given."""
        return Corpus.of((self.users[u], self.apps[u], self.usages(u)) for u in users)

    def first(self, usages: int) -> Corpus:
        """Everybody's first usages; apps that come later are forgotten."""
        return Corpus.of(_stretch(person, 0, usages) for person in self.people())

    def last(self, usages: int) -> Corpus:
        """Everybody's last usages; apps that only came before are forgotten."""
        return Corpus.of(_stretch(person, max(0, len(person[2].app) - usages), usages) for person in self.people())

    def cut(self, usages: int) -> Corpus:
        """Everybody in stretches of so many usages, each a person without a past; what is left at the end goes."""
        return Corpus.of(
            _stretch((f"{user} from {low}", names, log), low, usages)
            for user, names, log in self.people()
            for low in range(0, len(log.app) - usages + 1, usages)
        )


def _stretch(person: Person, low: int, usages: int) -> Person:
    """Some usages of a person, as if there were no others."""
    user, names, log = person
    part = log.take(slice(low, low + usages))
    first, _ = by_first_use(part.app)
    return user, tuple(names[code] for code in part.app[first]), part.renumbered()


def by_first_use(codes: NDArray[Any]) -> tuple[Longs, Ints]:
    """Where each code comes first, in that order, and every row's place in it."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(first), np.int32)
    place[order] = np.arange(len(first))
    return first[order], place[inverse]


def merged(table: pl.DataFrame) -> Corpus:
    """The paper's usages: a run of one app is one, whatever lies between."""
    return from_table(usage.merge(table))


def from_table(table: pl.DataFrame) -> Corpus:
    """A valid usage table as arrays, its launches as they are."""
    coded = table.with_columns(
        (pl.col("app").rank("dense").over("user") - 1).alias("sorted_code"),
        *(minutes_of(name) for name in ("start", "end")),
    )
    users = table["user"].unique(maintain_order=True)
    sizes = table.group_by("user", maintain_order=True).len()["len"].to_numpy()
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    sorted_code = coded["sorted_code"].to_numpy()
    app = np.empty(len(table), np.int32)
    names: list[tuple[str, ...]] = []
    for low, high in pairwise(offsets):
        first, app[low:high] = by_first_use(sorted_code[low:high])
        names.append(tuple(table["app"].gather(first + low).to_list()))
    start, end = coded["start"].to_numpy(), coded["end"].to_numpy()
    return Corpus(tuple(users), tuple(names), offsets, app, start, end, _home(table))


def _home(table: pl.DataFrame) -> Flags:
    known = table[usage.HOME] if usage.HOME in table.columns else pl.repeat(None, len(table), dtype=pl.Int8, eager=True)
    return known.cast(pl.Int8).fill_null(UNKNOWN).to_numpy()


def minutes_of(column: str) -> pl.Expr:
    """Since 1970."""
    return (pl.col(column).dt.epoch("us") / 60e6).alias(column)


def interleave(opens: NDArray[Any], closes: NDArray[Any]) -> NDArray[Any]:
    """(..., usages) twice -> (..., 2 * usages): open, close, open, close."""
    return np.stack([opens, closes], axis=-1).reshape(*opens.shape[:-1], -1)


def clock(minutes: float) -> datetime:
    """What the person's clock showed, to the second."""
    return EPOCH + timedelta(seconds=round(60 * minutes))


def moment(when: datetime) -> Moment:
    """What the person's clock shows; a zone, if it has one, is left aside."""
    minutes = (when.replace(tzinfo=None) - EPOCH) / timedelta(minutes=1)
    return Moment(minutes, float(hour_of_day(np.array(minutes))))


def hour_of_day(minutes: Floats) -> Floats:
    """H in [0, 24), a real number."""
    hour = np.mod(minutes, DAY) / 60.0
    return np.where(hour < 24.0, hour, 0.0)  # a hair before midnight can round up to it
