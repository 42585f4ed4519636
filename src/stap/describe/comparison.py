"""Real people and the prior side by side: is each real figure within the prior's range, and all of them at once?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stap import prior
from stap.describe.statistics import PREDICTORS, portraits
from stap.errors import BadInput
from stap.events import Corpus, Floats
from stap.terminal import Tick

LONGEST = 1500  # usages of a log that are looked at: what is compared has to be of one length
SHORTEST = 100
SEED = 20_130_901
NEIGHBOURS = 3


@dataclass(frozen=True)
class Comparison:
    """Both groups' portraits: statistic -> (people,)."""

    real: dict[str, Floats]
    prior: dict[str, Floats]
    real_corpus: Corpus
    prior_corpus: Corpus

    def summary(self) -> dict[str, Any]:
        """Everything that is printed and written as JSON."""
        return {
            "real people": len(self.real_corpus.users),
            "synthetic people": len(self.prior_corpus.users),
            "statistics": self.rows(),
            "typical": 100.0 * float((self.typical() >= 0.01).mean()),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Per statistic: the real people's extremes and median, the prior's 5 %, median, 95 %, and the share inside."""
        rows = []
        for name, real in self.real.items():
            low, five, median, most, high = np.nanquantile(self.prior[name], [0.01, 0.05, 0.5, 0.95, 0.99])
            known = real[~np.isnan(real)]
            rows.append(
                {
                    "statistic": name,
                    "real": [float(q) for q in np.quantile(known, [0, 0.5, 1])] if len(known) else [],
                    "prior": [float(five), float(median), float(most)],
                    "inside": 100.0 * float(((low <= known) & (known <= high)).mean()) if len(known) else np.nan,
                }
            )
        return rows

    def typical(self) -> Floats:
        """(real people,) how far a person is from the nearest synthetic ones, all statistics at once: the share of
        synthetic people who are farther from the other synthetic ones. Near 0 means nobody in the prior is like this.
        """
        names = [name for name in self.real if name != "usages"]
        real, made = (_scaled(group, self.prior, names) for group in (self.real, self.prior))
        own = np.sqrt(((made[:, None] - made) ** 2).mean(axis=2))
        np.fill_diagonal(own, np.inf)
        away = np.sqrt(((real[:, None] - made) ** 2).mean(axis=2))
        nearest = [np.sort(distance, axis=1)[:, :NEIGHBOURS].mean(axis=1) for distance in (own, away)]
        typical: Floats = (nearest[0] > nearest[1][:, None]).mean(axis=1)
        return typical


def _scaled(people: dict[str, Floats], reference: dict[str, Floats], names: list[str]) -> Floats:
    """(people, statistics) in units of the reference's spread, long tails drawn in; the unknown is in the middle."""
    places = []
    for name in names:
        low, middle, high = np.nanquantile(reference[name], [0.1, 0.5, 0.9])
        places.append(np.nan_to_num(np.arcsinh(4.0 * (people[name] - middle) / ((high - low) or 1.0))))
    return np.stack(places, axis=1)


def compare(real: Corpus, count: int, tick: Tick) -> Comparison:
    """Real people's first LONGEST usages, and as many usages of each of `count` synthetic people."""
    short = real.first(LONGEST)
    sizes = np.resize(np.diff(short.offsets), count).tolist()  # the real people's, in turn
    made = prior.corpus({f"person {i}": prior.draw_log(SEED, i, (size, size)) for i, size in enumerate(sizes)})
    return Comparison(portraits(short, tick), portraits(made, tick), short, made)


def pool(corpora: Mapping[str, Corpus]) -> Corpus:
    """All logs' people as one corpus, those with at least SHORTEST usages: less says little about anybody."""
    people = [person for corpus in corpora.values() for person in corpus.people() if len(person[2].app) >= SHORTEST]
    if not people:
        raise BadInput(", ".join(corpora), f"nobody has {SHORTEST} usages", "compare longer logs with the prior")
    return Corpus.of(people)


def work(real: Corpus, count: int) -> int:
    """How many usages `compare` will have reported when it is done."""
    sizes = np.minimum(np.diff(real.offsets), LONGEST)
    return len(PREDICTORS) * int(sizes.sum() + np.resize(sizes, count).sum())
