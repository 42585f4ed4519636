"""Everybody of a log through every predictor, shard by shard: on many processes or machines, in little memory.

A shard is some people. Those of a usage table stay in its file until whoever scores them reads them; all others are
here, and go to him. What comes back are tallies, so that nobody ever holds a whole fleet. Who does which shard makes no
difference to any bit of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stap import registry, sources
from stap.evaluate import NONE, Posted, Scored, Terms, score
from stap.events import Corpus, from_table, merged
from stap.jobs import Hands, each
from stap.notices import notices
from stap.predictors.base import Maker
from stap.sources.shards import USAGES, shards
from stap.terminal import Tick, quiet


@dataclass(frozen=True)
class Question:
    """Who is asked, and how: all that another process needs to ask the same."""

    predictors: tuple[str, ...]
    protocol: str
    model: Path | None = None
    ranker: Path | None = None
    seed: int = 0
    notifications: bool = True
    terms: Terms = field(default_factory=Terms)

    def makers(self) -> Mapping[str, Maker]:
        return _makers(self.predictors, self.model, self.ranker, self.protocol, self.seed)


@lru_cache(1)
def _makers(
    names: Sequence[str], model: Path | None, ranker: Path | None, protocol: str, seed: int
) -> dict[str, Maker]:
    """Read once by every process."""
    return {name: registry.maker(name, model, ranker, protocol, seed) for name in names}


class Heard(NamedTuple):
    """What a reader has to say of a log."""

    notes: tuple[str, ...] = ()
    skipped: int = 0  # bad rows


class Here(NamedTuple):
    """People who are in memory."""

    people: Corpus
    posted: Posted

    @property
    def usages(self) -> int:
        return len(self.people.app)

    def read(self) -> tuple[Corpus, Posted, Heard]:
        return self.people, self.posted, Heard()


class Filed(NamedTuple):
    """People in a usage table."""

    log: str
    options: sources.Options
    launches: bool  # as they are, with notifications; otherwise merged
    usages: int  # before merging

    def read(self) -> tuple[Corpus, Posted, Heard]:
        read = sources.read([self.log], self.options)
        posted = notices(read.notifications) if self.launches else NONE
        people = from_table(read.table) if self.launches else merged(read.table)
        return people, posted, Heard(read.notes, read.skipped)


Shard = Here | Filed


def filed(log: str, options: sources.Options, launches: bool) -> list[Filed]:
    """The shards of a usage table; none where the log has to be read at once."""
    if log == "-" or options.format not in (None, "plain"):
        return []
    if not launches:
        options = replace(options, merge_gap=None)
    found = shards(Path(log)) or []
    return [Filed(log, replace(options, rows=rows), launches, rows.number) for rows in found]


def here(people: Corpus, posted: Posted = NONE) -> Iterator[Here]:
    """People in memory, in shards of USAGES usages or one person."""
    low = 0
    for high in range(1, len(people.users) + 1):
        if high == len(people.users) or people.offsets[high] - people.offsets[low] >= USAGES:
            some = people.select(np.arange(low, high))
            yield Here(some, {user: posted[user] for user in some.users if user in posted})
            low = high


def ask(shard: Shard, question: Question, tick: Tick) -> tuple[Scored, Heard]:
    """One job: every predictor on one shard."""
    people, posted, heard = shard.read()
    given = posted if question.notifications else NONE
    return score(people, question.makers(), question.protocol, question.terms, tick, given), heard


def evaluate(
    shards: Sequence[Shard],
    question: Question,
    hands: Hands = Hands(),  # noqa: B008 - frozen
    tick: Tick = quiet,
) -> tuple[Scored, Heard]:
    """Everybody of all shards, in their order."""
    inside, outside = (tick, quiet) if hands.alone else (quiet, tick)
    found: dict[int, tuple[Scored, Heard]] = {}
    for number, answer in each((partial(ask, shard, question, inside) for shard in shards), hands):
        found[number] = answer
        outside(len(question.predictors) * shards[number].usages)
    scored, heard = zip(*(found[number] for number in range(len(shards))), strict=True)
    notes = dict.fromkeys(note for said in heard for note in said.notes)
    return Scored.joined(scored), Heard(tuple(notes), sum(said.skipped for said in heard))
