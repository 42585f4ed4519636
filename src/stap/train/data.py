"""Which people train, and which windows make up step s of epoch e: all of it follows from (seed, epoch, step).

So any process can work out any batch on its own, and a resumed run needs no more than a step counter.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stap.errors import BadInput
from stap.events import NO_LABEL, Corpus, Longs
from stap.phi import draw
from stap.train.config import TrainConfig
from stap.train.folds import hold_out
from stap.windows import Batch, cut, encode, filter_users, split_users, trimmed


@dataclass(frozen=True)
class People:
    """The users of a run, apart."""

    training: Corpus
    validation: Corpus
    testing: Corpus

    def names(self) -> dict[str, list[str]]:
        return {part: list(getattr(self, part).users) for part in ("training", "validation", "testing")}


def people(corpus: Corpus, config: TrainConfig, where: str) -> People:
    """Filter, hold a fold out, split the rest; says what to do where too few are left."""
    fits = filter_users(corpus, config.model.vocabulary)
    if not fits.users:
        why = f"every user has more than {config.model.vocabulary} distinct apps"
        raise BadInput(where, why, "raise model.vocabulary with --config, or import without --keep-system")
    rest, testing = hold_out(fits, config.fold, config.seed)
    if len(rest.users) < 2:
        raise _too_few(where, len(rest.users), len(corpus.users) - len(fits.users), config.model.vocabulary)
    training, validation = split_users(len(rest.users), config.split, config.seed + 1)
    if not len(validation):  # so few that their share of them is nobody
        training, validation = training[:-1], training[-1:]
    if not len(training):
        training, validation = validation[:1], validation[1:]
    split = People(rest.select(training), rest.select(validation), testing)
    for part in (split.training, split.validation):
        if not (part.label != NO_LABEL).any():
            raise BadInput(where, "its users have one usage each", "give longer logs")
    return split


def _too_few(where: str, left: int, dropped: int, vocabulary: int) -> BadInput:
    why = f"{left} user{'s' * (left != 1)} to train on"
    remedy = "training and validation need different people, so at least two: repeat --data with more logs"
    if dropped:
        why += f", {dropped} more with over {vocabulary} distinct apps left out"
        remedy += ", or raise model.vocabulary with --config"
    return BadInput(where, why, remedy)


def fingerprint(corpus: Corpus) -> str:
    """Two corpora with the same one train the same: guards a resumed run against other data."""
    digest = hashlib.sha256()
    for array in (corpus.offsets, corpus.app, corpus.start, corpus.end):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


class Feed:
    """The training windows, epoch by epoch and step by step."""

    def __init__(self, corpus: Corpus, config: TrainConfig) -> None:
        self.corpus, self.config = corpus, config
        self.windows = lru_cache(2)(lambda context: cut(corpus, context))
        self._order = lru_cache(1)(self._draw_order)

    def steps(self, epoch: int) -> int:
        context = self.config.context_of(epoch)
        return -(-len(self.windows(context)) // self.windows_per_batch(context))

    def windows_per_batch(self, context: int) -> int:
        return self.config.tokens_per_batch // context

    def steps_in_all(self) -> int:
        """Over all epochs: where a decaying learning rate ends."""
        phases = [*self.config.curriculum, (self.config.model.context, self.config.epochs)]
        total, left = 0, self.config.epochs
        for context, epochs in phases:
            part = min(epochs, left)
            left -= part
            total += part * -(-len(self.windows(context)) // self.windows_per_batch(context))
        return total

    def batch(self, epoch: int, step: int) -> Longs:
        """The windows of the whole step, on all processes together; longest first."""
        windows = self.windows(self.config.context_of(epoch))
        size = self.windows_per_batch(windows.context)
        which = self._order(epoch)[step * size : (step + 1) * size]
        return which[np.argsort(-windows.usages[which], kind="stable")]

    def _draw_order(self, epoch: int) -> Longs:
        windows = self.windows(self.config.context_of(epoch))
        return np.random.default_rng([self.config.seed, epoch]).permutation(len(windows))

    def labels(self, epoch: int, which: Longs) -> int:
        """How many events of these windows have a label: all but a user's last two."""
        windows = self.windows(self.config.context_of(epoch))
        end = windows.first[which] + windows.usages[which]
        last = end == self.corpus.offsets[windows.user[which] + 1]
        return 2 * int(windows.usages[which].sum() - last.sum())

    def encode(self, epoch: int, which: Longs) -> Batch:
        """These windows with this epoch's phi, no longer than the longest of them needs."""
        config = self.config
        windows = self.windows(config.context_of(epoch))
        if config.shuffle:
            phi = draw(config.seed, epoch, which, config.model.vocabulary)
        else:
            phi = draw(config.seed, 0, windows.user[which], config.model.vocabulary)
        return encode(self.corpus, trimmed(windows, which), which, phi)
