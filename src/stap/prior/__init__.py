"""A prior over users: synthetic people whose parameters are drawn so widely that real people fall inside.

Person number i of a seed is always the same, whoever draws it and whatever was drawn before: `draw_log(seed, i)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from stap.events import Corpus, Usages, tidy
from stap.prior.behaviour import behave
from stap.prior.logger import Logger, record
from stap.prior.person import draw_part, draw_person

__all__ = ["USAGES", "corpus", "draw_log", "people"]

USAGES = (300, 4000)


def draw_log(seed: int, index: int, usages: tuple[int, int] = USAGES) -> Usages:
    """What a logger recorded of person number `index`: from usages[0] to usages[1] usages, all sizes alike in log."""
    rng = np.random.default_rng([seed, index])
    low, high = usages
    wanted = round(low * (high / low) ** rng.random())
    person, logger = draw_person(rng), draw_part(Logger, rng)
    lived = int(1.2 * wanted / (1.0 - logger.off)) + 20
    while True:
        recorded = tidy(record(behave(person, lived, rng), logger, rng))
        if len(recorded.app) >= wanted:
            return recorded.take(slice(wanted))
        lived = int(1.2 * lived * wanted / len(recorded.app)) + 20


def people(count: int, seed: int, usages: tuple[int, int] = USAGES, first: int = 0) -> Corpus:
    """People number first .. first + count - 1 of a seed."""
    return corpus({f"person {index}": draw_log(seed, index, usages) for index in range(first, first + count)})


def corpus(people: Mapping[str, Usages]) -> Corpus:
    """People's usages by user name, end to end; the apps get names that mean nothing."""
    return Corpus.of((user, _names(int(usages.app.max()) + 1), usages) for user, usages in people.items())


@lru_cache(maxsize=1024)
def _names(apps: int) -> tuple[str, ...]:
    return tuple(f"app {code}" for code in range(apps))
