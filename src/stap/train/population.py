"""Who a model with evidence is trained on: people of the prior, real people, people made from real ones, and newcomers.

A newcomer is a stretch of somebody's log whose past is not known. Without them a model would hardly ever see how little
is known of a person in the first hundred usages: a real log has one beginning.

Round after round, each a pure function of (seed, round): so a run that is resumed meets the same people again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stap import prior
from stap.events import Corpus, Usages, by_first_use
from stap.prior import augment
from stap.train.recipe import Recipe
from stap.train.tables import AT_OPEN, Random, Table, Window, tabulate, windows

PRIOR_USAGES = (40, 2500)
NEW_USAGES = (40, 256)  # of a newcomer
CHANGED = 0.4  # how likely each way of changing a log is taken
SPLICED = 0.2
LEAST = 50  # usages that a changed log must keep


class Population:
    """`view`: the same users as another logger would have seen them."""

    def __init__(self, corpus: Corpus, recipe: Recipe, view: Corpus | None = None) -> None:
        self.recipe = recipe
        logs = corpus.everybody() if recipe.real else []
        again = dict(zip(view.users, view.everybody(), strict=True)) if view else {}
        self.logs = [[log] for log in logs]  # of every person: as logged and, where there is one, the other view
        for user, logged in zip(corpus.users, self.logs, strict=False):
            logged += [again[user]] if user in again else []
        self._plain = [
            [tabulate(log, np.random.default_rng([recipe.seed, i]), person=i) for log in logged]
            for i, logged in enumerate(self.logs)
        ]

    def windows(self, round_number: int, mixed: bool) -> list[Window]:
        """All windows of a round in their order; `mixed`: with real people."""
        rng = np.random.default_rng([self.recipe.seed, 1, round_number])
        tables: list[Table] = []
        if mixed and self.logs:
            tables = [self._table(person, rng) for person in range(len(self.logs))]
            wanted = _beside(tables, self.recipe.prior_share)
            tables += self._newcomers(_beside(tables, self.recipe.new_share), rng)
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
            log = prior.draw_log(self.recipe.seed, index, PRIOR_USAGES)
            yield tabulate(log, rng, person=len(self.logs) + index)

    def _table(self, person: int, rng: Random) -> Table:
        view = self._view(person, rng)
        log = self.logs[person][view]
        if rng.random() < self.recipe.augmented:
            return self._tabulated(self._changed(log, rng), person, rng)
        return self._tabulated(log, person, rng, self._plain[person][view])

    def _newcomers(self, usages: float, rng: Random) -> list[Table]:
        """So many usages of them; who used the phone more comes up more often."""
        sizes = np.array([len(logged[0].app) for logged in self.logs], float)
        tables: list[Table] = []
        while usages > 0:
            person = int(rng.choice(len(sizes), p=sizes / sizes.sum()))
            log = self.logs[person][self._view(person, rng)]
            if rng.random() < self.recipe.augmented:
                log = self._changed(log, rng)
            wanted = min(int(rng.integers(*NEW_USAGES)), len(log.app))
            first = int(rng.integers(len(log.app) - wanted + 1))
            stretch = log.take(slice(first, first + wanted))
            stretch = stretch._replace(app=by_first_use(stretch.app)[1])
            tables.append(self._tabulated(stretch, person, rng))
            usages -= wanted
        return tables

    def _tabulated(self, log: Usages, person: int, rng: Random, plain: Table | None = None) -> Table:
        """Now and then without closes; half of these are asked at the open, where nothing else ever comes.

        `plain`: what the log gives as it is, if that is known already.
        """
        if rng.random() < self.recipe.instants:
            at_open = 1.0 if rng.random() < 0.5 else AT_OPEN
            return tabulate(log._replace(end=log.start), rng, at_open, person=person)
        return tabulate(log, rng, person=person) if plain is None else plain

    def _view(self, person: int, rng: Random) -> int:
        return int(rng.random() < self.recipe.view_share and len(self.logs[person]) > 1)

    def _changed(self, log: Usages, rng: Random) -> Usages:
        """Somebody like this person."""
        changed = log
        for change in (augment.crop, augment.warp_time, augment.drop_apps, augment.merge_apps):
            if rng.random() < CHANGED:
                changed = change(changed, rng)
        if rng.random() < SPLICED:
            other = int(rng.integers(len(self.logs)))
            changed = augment.splice(changed, self.logs[other][self._view(other, rng)], rng)
        if len(changed.app) < min(LEAST, len(log.app)):
            changed = log
        return augment.interrupt(changed, rng) if rng.random() < self.recipe.interrupted else changed


def _beside(tables: list[Table], share: float) -> float:
    """How many usages must come to these to be that share of all."""
    return share / (1.0 - share) * sum(map(len, tables))
