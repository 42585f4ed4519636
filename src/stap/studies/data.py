"""`stap study data`: who is in the logs, how many apps the vocabulary covers, and the simplest predictors on them.

MFU and MRU need no training, so they test the whole processing at once: on the paper's data sets they have to give the
paper's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from stap.describe.counts import counts, draw_distributions
from stap.evaluate import paper, report
from stap.metrics import NAMES
from stap.published import PUBLISHED
from stap.registry import maker
from stap.studies.experiment import Experiment, Found, Job, Outcome
from stap.studies.populations import NamedPeople
from stap.terminal import Grid
from stap.windows import VOCABULARY, filter_users

SIMPLE = ("mfu", "mru", "previous")
ROOMS = (50, 100, VOCABULARY, 400)  # sizes of the vocabulary
TOY = 300  # usages of each person at most


@dataclass(frozen=True)
class Data(Experiment):
    people: tuple[NamedPeople, ...]
    name: ClassVar[str] = "data"
    question: ClassVar[str] = "Who is in the logs, and is their processing the paper's?"

    def about(self) -> dict[str, Any]:
        return {"data": {people.name: people.about() for people in self.people}}

    def jobs(self) -> list[Job]:
        return [Job(_key(people), measure, (people, TOY if self.scale == "toy" else None)) for people in self.people]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        by_name = {people.name: found[_key(people)] for people in self.people}
        tables = (_sizes(by_name), _covered(by_name), _simple(by_name))
        return Outcome({"people": by_name, "published": PUBLISHED}, tables, self._draw())

    def _draw(self) -> Callable[[Path], None]:
        return lambda path: draw_distributions({people.name: people.read() for people in self.people}, path)


def _key(people: NamedPeople) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in people.name)


def measure(people: NamedPeople, most: int | None) -> Found:
    """Counts, the share of users that each vocabulary has room for, and the simple predictors, paper protocol."""
    corpus = people.read()
    covered = {str(room): 100.0 * float((corpus.app_counts <= room).mean()) for room in ROOMS}
    fits = filter_users(corpus)
    if most is not None:
        fits = fits.first(most)
    scores = {name: report(paper(fits, maker(name)), "paper")["pooled"] for name in SIMPLE}
    kept = {name: {metric: float(row[metric]) for metric in ("n", *NAMES)} for name, row in scores.items()}
    return {"counts": counts(corpus), "covered": covered, "simple": kept}


def _sizes(found: Mapping[str, Found]) -> Grid:
    headers = ("people", "users", "apps", "usages", "apps a user", "usages a user", "days")
    rows = []
    for name, one in found.items():
        counted, per_user = one["counts"], one["counts"]["per user"]
        medians = (f"{per_user[what]['median']:,.0f}" for what in ("distinct apps", "usages", "days"))
        whole = (f"{counted[what]:,}" for what in ("users", "distinct apps", "usages"))
        rows.append((name, *whole, *medians))
    return Grid("Who is in the logs", headers, rows, "Of a user: the median.")


def _covered(found: Mapping[str, Found]) -> Grid:
    rows = [(name, *(f"{share:.1f} %" for share in one["covered"].values())) for name, one in found.items()]
    return Grid("Users whose apps a vocabulary has room for", ("people", *(f"V = {room}" for room in ROOMS)), rows)


def _simple(found: Mapping[str, Found]) -> Grid:
    rows = []
    for name, one in found.items():
        for predictor, scores in one["simple"].items():
            rows.append((f"{name}, {predictor}", *(f"{scores[metric]:.2f}" for metric in NAMES)))
            if predictor in PUBLISHED.get(name, {}):
                published = PUBLISHED[name][predictor]
                rows.append((f"{name}, {predictor}, as published", *(f"{value:.2f}" for value in published)))
    return Grid("The simplest predictors, paper protocol, percent", ("", *NAMES), rows)
