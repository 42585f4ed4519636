"""Who trains, who validates and who is held out, by user: the same people for the model and for its rival."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stap.errors import BadInput
from stap.events import NO_LABEL, Corpus
from stap.train.config import TrainConfig, parse_fold
from stap.usage import some
from stap.windows import filter_users, split_users


@dataclass(frozen=True)
class People:
    """The users of a run, apart."""

    training: Corpus
    validation: Corpus
    testing: Corpus
    view: Corpus | None = None  # some of them as another logger saw them
    data: str = ""  # fingerprint: guards a resumed run against other data
    number: int = 0  # users of the log, also those who are in none of the parts

    def names(self) -> dict[str, list[str]]:
        return {part: list(getattr(self, part).users) for part in ("training", "validation", "testing")}


def hold_out(corpus: Corpus, fold: str, seed: int = 0, always: Sequence[str] = ()) -> tuple[Corpus, Corpus]:
    """(training, held out); without a fold everybody trains. `always`: users who are never held out."""
    everybody = np.arange(len(corpus.users))
    _check_always(corpus, always)
    if not fold:
        return corpus, corpus.select(everybody[:0])
    number, parts = parse_fold(fold)
    others = np.array([n for n, name in enumerate(corpus.users) if name not in always], np.int64)
    if parts > len(others):
        raise BadInput("--fold", f"{parts} folds of {len(others)} users", "give more logs, or fewer folds")
    out = others[split_users(len(others), [1] * parts, seed)[number - 1]]
    return corpus.select(np.setdiff1d(everybody, out)), corpus.select(np.sort(out))


def _check_always(corpus: Corpus, always: Sequence[str]) -> None:
    if missing := sorted(set(always) - set(corpus.users)):
        raise BadInput("--always", f"no user {missing[0]!r} in the log", f"its users are {some(corpus.users)}")


def apart(corpus: Corpus | People, config: TrainConfig, view: Corpus | None = None) -> People:
    """Hold a fold out; nobody validates. Who are apart already stay as they are, as in `split`."""
    if isinstance(corpus, People):
        return corpus
    training, testing = hold_out(corpus, config.fold, config.seed, config.always)
    data = fingerprint(training, *([view] if view else []))
    return People(training, corpus.select(np.empty(0, np.int64)), testing, view, data, len(corpus.users))


def split(corpus: Corpus | People, config: TrainConfig, where: str) -> People:
    """Leave out who has too many apps, hold a fold out, split the rest; says what to do where too few are left."""
    if isinstance(corpus, People):
        return corpus
    fits = filter_users(corpus, config.model.vocabulary)
    if not fits.users:
        why = f"every user has more than {config.model.vocabulary} distinct apps"
        raise BadInput(where, why, "raise model.vocabulary with --config, or import without --keep-system")
    _check_always(corpus, config.always)
    always = [name for name in config.always if name in fits.users]
    rest, testing = hold_out(fits, config.fold, config.seed, always)
    train = np.array([n for n, name in enumerate(rest.users) if name in always], np.int64)
    dealt = np.setdiff1d(np.arange(len(rest.users)), train)
    if len(rest.users) < len(config.split) or len(dealt) < len(config.split) - bool(len(train)):
        raise _too_few(where, len(rest.users), len(corpus.users) - len(fits.users), config)
    seed = config.seed + (len(config.split) == 2)  # another one than the folds'
    parts = [dealt[part] for part in split_users(len(dealt), config.split, seed)]
    for empty in (number for number, part in enumerate(parts) if not len(part)):  # so few that their share is nobody
        if empty or not len(train):
            largest = max(range(len(parts)), key=lambda number: len(parts[number]))
            parts[largest], parts[empty] = parts[largest][:-1], parts[largest][-1:]
    parts[0] = np.sort(np.concatenate([parts[0], train]))
    training, validation, *tested = (rest.select(part) for part in parts)
    for part in (training, validation):
        if not (part.label != NO_LABEL).any():
            raise BadInput(where, "its users have one usage each", "give longer logs")
    held = tested[0] if tested else testing
    return People(training, validation, held, None, fingerprint(corpus), len(corpus.users))


def _too_few(where: str, left: int, dropped: int, config: TrainConfig) -> BadInput:
    why = f"{left} user{'s' * (left != 1)} to train on"
    number = {2: "two", 3: "three"}[len(config.split)]
    remedy = f"training and validation need different people, so at least {number}: give more logs"
    if dropped:
        why += f", {dropped} more with over {config.model.vocabulary} distinct apps left out"
        remedy += ", or raise model.vocabulary with --config"
    return BadInput(where, why, remedy)


def fingerprint(*corpora: Corpus) -> str:
    """Two corpora with the same one train the same: guards a resumed run against other data."""
    digest = hashlib.sha256()
    for corpus in corpora:
        for array in (corpus.offsets, corpus.app, corpus.start, corpus.end):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]
