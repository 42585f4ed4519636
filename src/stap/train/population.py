"""Who a model with evidence is trained on: people of the prior, real people, and people made from real ones.

Round after round, each a pure function of (seed, round): so a run that is resumed meets the same people again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stap import prior
from stap.events import Corpus
from stap.prior import augment
from stap.prior.log import Log
from stap.train.recipe import Recipe
from stap.train.tables import Random, Table, Window, logs_of, tabulate, windows

PRIOR_USAGES = (200, 2500)
CHANGED = 0.4  # how likely each way of changing a log is taken
SPLICED = 0.2
LEAST = 50  # usages that a changed log must keep


class Population:
    def __init__(self, corpus: Corpus, recipe: Recipe) -> None:
        self.recipe = recipe
        self.logs = logs_of(corpus) if recipe.real else []
        self._plain = [tabulate(log, np.random.default_rng([recipe.seed, i])) for i, log in enumerate(self.logs)]

    def windows(self, round_number: int, mixed: bool) -> list[Window]:
        """All windows of a round in their order; `mixed`: with real people."""
        rng = np.random.default_rng([self.recipe.seed, 1, round_number])
        tables: list[Table] = []
        if mixed and self.logs:
            tables = [self._table(person, rng) for person in range(len(self.logs))]
            share = self.recipe.prior_share
            wanted = share / (1.0 - share) * sum(map(len, tables))
        else:
            wanted = float("inf")
        for table in self._prior(round_number, rng):
            if wanted <= 0:
                break
            tables.append(table)
            wanted -= len(table)
        return windows(tables, self.recipe.usages, rng)

    def _prior(self, round_number: int, rng: Random) -> Iterator[Table]:
        """People that no other round sees."""
        first = round_number * self.recipe.prior_people
        for index in range(first, first + self.recipe.prior_people):
            yield tabulate(prior.draw_log(self.recipe.seed, index, PRIOR_USAGES), rng)

    def _table(self, person: int, rng: Random) -> Table:
        if rng.random() >= self.recipe.augmented:
            return self._plain[person]
        return tabulate(self._changed(self.logs[person], rng), rng)

    def _changed(self, log: Log, rng: Random) -> Log:
        """Somebody like this person."""
        changed = log
        for change in (augment.crop, augment.warp_time, augment.drop_apps, augment.merge_apps):
            if rng.random() < CHANGED:
                changed = change(changed, rng)
        if rng.random() < SPLICED:
            changed = augment.splice(changed, self.logs[int(rng.integers(len(self.logs)))], rng)
        return changed if len(changed.app) >= min(LEAST, len(log.app)) else log
