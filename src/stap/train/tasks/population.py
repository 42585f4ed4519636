"""Who the shipped and the pure model learn from: people of the prior, real people, people made of these, newcomers.

A newcomer is a stretch of somebody's log whose past is not known. Without them a model would hardly ever see how little
is known of a person in the first hundred usages: a real log has one beginning.

Round after round, each a pure function of (seed, round): so a run that is resumed meets the same people again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from stap import prior
from stap.events import Corpus, Usages, tidy
from stap.prior import augment
from stap.train.config import TrainConfig
from stap.train.tasks.tables import LAUNCHES, ONLY_OPENS, USAGES, Asking, Random

PRIOR_USAGES = (40, 2500)
NEW_USAGES = (40, 256)  # of a newcomer
CHANGED = 0.4  # how likely each way of changing a log is taken
SPLICED = 0.2
LEAST = 50  # usages that a changed log must keep


T = TypeVar("T")  # what a task knows of every usage


class Member(NamedTuple, Generic[T]):
    """Somebody who comes up in a round."""

    person: int  # whose phi it is where phi is not drawn anew for every window
    usages: Usages
    table: T


class Population(Generic[T]):
    """`view`: the same users as another logger would have seen them. `tabulate`: what the task knows of usages."""

    def __init__(
        self,
        corpus: Corpus,
        settings: TrainConfig,
        tabulate: Callable[[Usages, Random, Asking], T],
        view: Corpus | None = None,
    ) -> None:
        self._tabulate = tabulate
        self.seed, self.mix = settings.seed, settings.population
        self.launches = bool(settings.model.launches)  # everybody comes up as launches, not as merged usages
        again = dict(zip(view.users, view.everybody(), strict=True)) if view else {}
        everybody = zip(corpus.users, corpus.everybody(), strict=True) if self.mix.real else ()
        # Of every person: as logged and, where there is one, the other view.
        self.logs = [[usages, again[user]] if user in again else [usages] for user, usages in everybody]
        self.logs = [[usages if self.launches else tidy(usages) for usages in views] for views in self.logs]
        # What is asked most often, computed once.
        self._plain = [
            [self._tabulate(usages, np.random.default_rng([self.seed, person]), self._asking) for usages in views]
            for person, views in enumerate(self.logs)
        ]

    @property
    def _asking(self) -> Asking:
        return LAUNCHES if self.launches else USAGES

    def round(self, number: int, mixed: bool, rng: Random) -> list[Member[T]]:
        """Who comes up in a round; `mixed`: with real people."""
        members: list[Member[T]] = []
        wanted = float("inf")
        if mixed and self.logs:
            members = [self._real(person, rng) for person in range(len(self.logs))]
            wanted = _beside(members, self.mix.prior_share)
            members += self._newcomers(_beside(members, self.mix.new_share), rng)
        for member in self._prior(number, rng):
            if wanted <= 0:
                break
            members.append(member)
            wanted -= len(member.usages.app)
        return members

    def _prior(self, number: int, rng: Random) -> Iterator[Member[T]]:
        """People that no other round sees."""
        first = number * self.mix.prior_people
        for index in range(first, first + self.mix.prior_people):
            usages = prior.draw_log(self.seed, index, PRIOR_USAGES)
            yield Member(len(self.logs) + index, usages, self._tabulate(usages, rng, USAGES))

    def _real(self, person: int, rng: Random) -> Member[T]:
        view = self._view(person, rng)
        if rng.random() < self.mix.augmented:
            return self._member(person, self._changed(self.logs[person][view], rng), rng)
        if rng.random() < self.mix.instants:
            return self._member(person, self.logs[person][view], rng)
        return Member(person, self.logs[person][view], self._plain[person][view])

    def _newcomers(self, wanted: float, rng: Random) -> Iterator[Member[T]]:
        """So many usages of them; who used the phone more comes up more often."""
        sizes = np.array([len(views[0].app) for views in self.logs], float)
        while wanted > 0:
            person = int(rng.choice(len(sizes), p=sizes / sizes.sum()))
            usages = self.logs[person][self._view(person, rng)]
            if rng.random() < self.mix.augmented:
                usages = self._changed(usages, rng)
            length = min(int(rng.integers(*NEW_USAGES)), len(usages.app))
            first = int(rng.integers(len(usages.app) - length + 1))
            yield self._member(person, usages.take(slice(first, first + length)).renumbered(), rng)
            wanted -= length

    def _member(self, person: int, usages: Usages, rng: Random) -> Member[T]:
        """Now and then without closes, and some of these are asked at the open alone, where nothing else ever comes."""
        asking = self._asking
        usages = usages if self.launches else tidy(usages)
        if rng.random() < self.mix.instants:
            usages = usages._replace(end=usages.start)
            if not self.launches and rng.random() < 0.5:
                asking = ONLY_OPENS
        return Member(person, usages, self._tabulate(usages, rng, asking))

    def _view(self, person: int, rng: Random) -> int:
        return int(rng.random() < self.mix.view_share and len(self.logs[person]) > 1)

    def _changed(self, usages: Usages, rng: Random) -> Usages:
        """Somebody like this person."""
        changed = usages
        for change in (augment.crop, augment.warp_time, augment.drop_apps, augment.merge_apps):
            if rng.random() < CHANGED:
                changed = change(changed, rng)
        if rng.random() < SPLICED:
            other = int(rng.integers(len(self.logs)))
            changed = augment.splice(changed, self.logs[other][self._view(other, rng)], rng)
        if len(changed.app) < min(LEAST, len(usages.app)):
            changed = usages
        return augment.interrupt(changed, rng) if rng.random() < self.mix.interrupted else changed


def _beside(members: list[Member[T]], share: float) -> float:
    """How many usages must come to these to be that share of all."""
    return share / (1.0 - share) * sum(len(member.usages.app) for member in members)
