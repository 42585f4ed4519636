"""A made population with a known best answer, and rivals so small that they learn it in seconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stap.events import Corpus, Person, Usages
from stap.train.config import TrainConfig
from stap.train.presets import PRESETS

APPS, SURE = 6, 0.75


def chain(people: int, usages: int, by_hour: bool, seed: int = 0) -> Corpus:
    """Everybody goes on from app i to i + 1, or with `by_hour` in the afternoon to i + 2, three times out of four.

    Otherwise it is any other app. So the best answer is i + 1 (or i + 2), whatever else is known.
    """
    rng = np.random.default_rng(seed)
    return Corpus.of(_person(rng, f"{seed}-{user}", usages, by_hour) for user in range(people))


def _person(rng: np.random.Generator, user: str, usages: int, by_hour: bool) -> Person:
    app, start, now = np.zeros(usages, np.int32), np.zeros(usages), float(rng.integers(1440))
    for row in range(usages - 1):
        start[row] = now
        step = int(rng.integers(1, APPS)) if rng.random() >= SURE else best_step(now + 1.0, by_hour)
        app[row + 1] = (app[row] + step) % APPS
        now += 2.0 + rng.exponential(60.0)
    start[-1] = now
    order = list(dict.fromkeys(app.tolist()))
    return user, tuple(f"app {code}" for code in order), Usages(app, start, start + 1.0).renumbered()


def best_step(minutes: float, by_hour: bool) -> int:
    return 2 if by_hour and minutes % 1440 >= 720 else 1


def best_hits(corpus: Corpus, by_hour: bool) -> float:
    """HR@1 in percent of who knows how these people were made."""
    hits = labels = 0
    for user in range(len(corpus.users)):
        names = [int(name.split()[1]) for name in corpus.apps[user]]
        log = corpus.usages(user)
        codes = [names[code] for code in log.app.tolist()]
        for row, end in enumerate(log.end.tolist()[:-1]):
            hits += codes[row + 1] == (codes[row] + best_step(end, by_hour)) % APPS
            labels += 1
    return 100 * hits / labels


def small(kind: str, **changes: object) -> TrainConfig:
    base = PRESETS[kind]
    sizes = replace(base.rival, recent=4, dim=16, hidden=32, layers=1, heads=2, categories=3)
    tokens = 2 * sizes.recent * 64
    settings = replace(
        base,
        rival=sizes,
        model=replace(base.model, context=2 * sizes.recent),
        epochs=14,
        learning_rate=1e-2,
        tokens_per_batch=tokens,
        tokens_at_once=tokens,
        decay="cosine",
    )
    return replace(settings, **changes)  # type: ignore[arg-type]
