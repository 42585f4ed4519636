"""An epoch of a population: its members end to end, cut into windows, with what the task knows of every usage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Self

import numpy as np

from stap.events import Corpus, Ints, Longs
from stap.phi import draw, widen
from stap.train.config import TrainConfig
from stap.train.tasks.base import Epoch
from stap.train.tasks.population import Member, T
from stap.train.tasks.tables import Random
from stap.windows import Windows, cut

LEAST = 16  # usages in a window, where the person has as many


@dataclass(frozen=True)
class Round(Epoch, Generic[T]):
    table: T
    person: Longs  # (users,)

    @classmethod
    def of(
        cls,
        settings: TrainConfig,
        number: int,
        members: Sequence[Member[T]],
        join: Callable[[Sequence[T]], T],
        rng: Random,
        steps: int,
    ) -> Self:
        """Every member cut into windows from a random first cut on, in random order; so many steps at most."""
        corpus = Corpus.of((str(n), ("",) * (int(m.usages.app.max()) + 1), m.usages) for n, m in enumerate(members))
        context = settings.context_of(number)
        windows = cut(corpus, context, rng.integers(1, context // 2 + 1, len(members)))
        long_enough = windows.usages >= np.minimum(LEAST, np.diff(corpus.offsets)[windows.user])
        windows = windows.select(np.flatnonzero(long_enough))
        order = rng.permutation(len(windows))[: steps * (settings.tokens_per_batch // context)]
        person = np.array([member.person for member in members])
        return cls(settings, number, corpus, windows, order, join([member.table for member in members]), person)

    def phi(self, windows: Windows, which: Longs) -> Ints:
        """(n, apps): anew for every window and round; without shuffling, once a person."""
        vocabulary, row_and_here = self.settings.model.vocabulary, windows.rows(which)
        used = [self.corpus.app[row[here]] for row, here in zip(*row_and_here, strict=True)]
        if self.settings.shuffle:
            drawn = draw(self.settings.seed, self.number, which, vocabulary)
        else:
            drawn = draw(self.settings.seed, 0, self.person[windows.user[which]], vocabulary)
            used = [used_by[:0] for used_by in used]
        return widen(drawn, self.corpus.app_counts[windows.user[which]], used)
