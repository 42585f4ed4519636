"""What a rival sees when it is asked: the last usages, the clock, how often the person used what, who it is.

Apps are known by name, so codes of a person become places in one vocabulary for all. Everything is looked up from a
corpus's arrays, for any positions at once, in training and in scoring alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from stap.events import DAY, Bools, Corpus, Floats, Longs
from stap.rivals.config import RivalConfig

List = Literal["seen", "installed", "any"]  # which apps may be its answer: see `Sight.listed`


class Scene(NamedTuple):
    """n positions. Apps are places in the vocabulary; V: an app outside it, V + 1: no usage."""

    app: Tensor  # (n, k) the last usages, the current one last
    ago: Tensor  # (n, k) log(1 + minutes) since each began
    stay: Tensor  # (n, k) log(1 + minutes) that each lasted
    hour: Tensor  # (n, k) 0..23, when each began
    now: Tensor  # (n, 2) hour and weekday of the moment that it goes by
    person: Tensor  # (n,) place among the people trained on, from 1; 0: nobody knows
    uses: Tensor  # (n, V) log(1 + how often the person has opened each app)
    listed: Tensor  # (n, V) the apps that may be the answer


class Asked(NamedTuple):
    """Positions: after the open or the close of a usage, with the past beginning at a row."""

    user: Longs
    row: Longs
    low: Longs
    now: Floats  # minutes on the person's clock

    def part(self, which: slice | Longs) -> Asked:
        return Asked(self.user[which], self.row[which], self.low[which], self.now[which])


@dataclass(frozen=True)
class Sight:
    """A corpus as a rival with this vocabulary sees it."""

    corpus: Corpus
    config: RivalConfig

    @cached_property
    def _place(self) -> list[Longs]:
        """For every user, codes -> places in the vocabulary; V for apps outside."""
        known = {name: place for place, name in enumerate(self.config.apps)}
        return [np.array([known.get(name, len(known)) for name in names], np.int64) for names in self.corpus.apps]

    @cached_property
    def app(self) -> Longs:
        """(usages,) in the vocabulary."""
        rows = (place[self.corpus.usages(user).app] for user, place in enumerate(self._place))
        return np.concatenate([np.empty(0, np.int64), *rows])

    @cached_property
    def label(self) -> Longs:
        """(usages,) the next app in the vocabulary: -1 where there is none, V where it is outside."""
        label = np.full(len(self.app), -1)
        label[:-1] = self.app[1:]
        label[self.corpus.offsets[1:] - 1] = -1
        return label

    @cached_property
    def _known(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.config.users, 1)}

    @cached_property
    def _uses(self) -> Longs:
        """(app, row) of all usages as one sorted number each, so that counts up to a row are a search."""
        return np.sort(self.app * len(self.app) + np.arange(len(self.app)))

    def scene(self, asked: Asked, allowed: List = "seen") -> Scene:
        corpus, v, k = self.corpus, len(self.config.apps), self.config.sizes.recent
        rows = asked.row[:, None] + np.arange(1 - k, 1)
        here = rows >= asked.low[:, None]
        rows = np.maximum(rows, asked.low[:, None])
        start = corpus.start[rows]
        ended = np.minimum(corpus.end[rows], asked.now[:, None])  # of what is open nobody knows the end
        count = self._counts(asked)
        person = np.array([self._known.get(corpus.users[user], 0) for user in asked.user.tolist()], np.int64)
        return Scene(
            torch.from_numpy(np.where(here, self.app[rows], v + 1)),
            _log(np.where(here, asked.now[:, None] - start, 0.0)),
            _log(np.where(here, ended - start, 0.0)),
            torch.from_numpy(np.where(here, hours(start), 0)),
            torch.from_numpy(np.stack([hours(asked.now), weekdays(asked.now)], axis=1)),
            torch.from_numpy(person),
            _log(count),
            torch.from_numpy(self.listed(asked.user, count, allowed)),
        )

    def _counts(self, asked: Asked) -> Longs:
        """(n, V) usages of each app from `low` to `row`, both included; only a person's own apps are looked up."""
        n = len(self.app)
        count = np.zeros((len(asked.row), len(self.config.apps) + 1), np.int64)
        for user in np.unique(asked.user):
            which = np.flatnonzero(asked.user == user)
            own = self._place[user]
            last = np.searchsorted(self._uses, own * n + asked.row[which, None], "right")
            count[which[:, None], own] = last - np.searchsorted(self._uses, own * n + asked.low[which, None], "left")
        return count[:, :-1]

    def listed(self, user: Longs, count: Longs, allowed: List) -> Bools:
        """(n, V) seen: by this person so far; installed: ever, the future included; any: the whole vocabulary."""
        if allowed == "seen":
            return count > 0
        listed = np.ones((len(user), len(self.config.apps) + 1), bool)
        if allowed == "installed":
            listed[:] = False
            for each in np.unique(user):
                listed[np.ix_(user == each, self._place[each])] = True
        return listed[:, :-1]


def hours(minutes: Floats) -> Longs:
    return (np.mod(minutes, DAY) // 60).astype(np.int64)


def weekdays(minutes: Floats) -> Longs:
    return (minutes // DAY).astype(np.int64) % 7


def _log(values: Floats | Longs) -> Tensor:
    return torch.from_numpy(np.log1p(np.maximum(values, 0.0)).astype(np.float32))


def vocabulary(corpus: Corpus) -> tuple[str, ...]:
    """Every app of these people by name, those of most people first."""
    users: dict[str, int] = {}
    for names in corpus.apps:
        for name in names:
            users[name] = users.get(name, 0) + 1
    return tuple(sorted(users, key=lambda name: (-users[name], name)))
