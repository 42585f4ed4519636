"""Usages -> events and labels, as flat arrays.

An event is (A, C, T, H): app, action, minutes, hour of day. Every usage gives two, open then close, and both carry the
same label: the app of the next usage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OPEN, CLOSE = 1, 0
NO_LABEL = -1  # a user's last usage: nobody knows what came next
DAY = 24 * 60.0


@dataclass(frozen=True)
class Corpus:
    """Many users' usages end to end: user u owns the rows offsets[u]:offsets[u+1].

    App codes are local to a user, 0..len(apps[u])-1 in order of first use, so that no identity crosses users.
    Minutes count from 1970 on the user's wall clock, in float64: exact to well under a microsecond.
    """

    users: tuple[str, ...]
    apps: tuple[tuple[str, ...], ...]  # apps[u][code] is the real name
    offsets: Longs  # (users + 1,)
    app: Ints  # (usages,)
    start: Floats  # (usages,) minutes
    end: Floats  # (usages,)

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

    def usages_of(self, user: int) -> slice:
        return slice(int(self.offsets[user]), int(self.offsets[user + 1]))

    def select(self, users: Longs) -> Corpus:
        """The corpus of some users only, in the order given."""
        rows = np.concatenate([np.arange(self.offsets[u], self.offsets[u + 1]) for u in users] or [np.empty(0, int)])
        sizes = (self.offsets[1:] - self.offsets[:-1])[users]
        return Corpus(
            users=tuple(self.users[u] for u in users),
            apps=tuple(self.apps[u] for u in users),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            app=self.app[rows],
            start=self.start[rows],
            end=self.end[rows],
        )

    def cut(self, usages: int) -> Corpus:
        """Everybody in stretches of so many usages, each a person without a past; what is left at the end goes."""
        pieces = [
            (user, low)
            for user in range(len(self.users))
            for low in range(self.offsets[user], self.offsets[user + 1] - usages + 1, usages)
        ]
        numbered = [by_first_use(self.app[low : low + usages]) for _, low in pieces]
        rows = np.concatenate([np.arange(low, low + usages) for _, low in pieces] or [np.empty(0, int)])
        return Corpus(
            users=tuple(f"{self.users[user]} from {low - self.offsets[user]}" for user, low in pieces),
            apps=tuple(
                tuple(self.apps[user][code] for code in self.app[low + first])
                for (user, low), (first, _) in zip(pieces, numbered, strict=True)
            ),
            offsets=usages * np.arange(len(pieces) + 1, dtype=np.int64),
            app=np.concatenate([place for _, place in numbered] or [np.empty(0, np.int32)]),
            start=self.start[rows],
            end=self.end[rows],
        )


def by_first_use(codes: NDArray[Any]) -> tuple[Longs, Ints]:
    """Where each code comes first, in that order, and every row's place in it."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(first), np.int32)
    place[order] = np.arange(len(first))
    return first[order], place[inverse]


def from_table(table: pl.DataFrame) -> Corpus:
    """A valid, merged usage table as arrays."""
    coded = table.with_columns(
        (pl.col("app").rank("dense").over("user") - 1).alias("sorted_code"),
        *((pl.col(name).dt.epoch("us") / 60e6).alias(name) for name in ("start", "end")),
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
    return Corpus(tuple(users), tuple(names), offsets, app, coded["start"].to_numpy(), coded["end"].to_numpy())


def interleave(opens: NDArray[Any], closes: NDArray[Any]) -> NDArray[Any]:
    """(..., usages) twice -> (..., 2 * usages): open, close, open, close."""
    return np.stack([opens, closes], axis=-1).reshape(*opens.shape[:-1], -1)


def hour_of_day(minutes: Floats) -> Floats:
    """H in [0, 24), a real number."""
    return np.mod(minutes, DAY) / 60.0
