"""A study's training runs, each in a folder of its own in which it goes on after a kill; and scores by person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stap.evaluate import Terms, paper, report, stream
from stap.events import Corpus
from stap.metrics import NAMES
from stap.model import weights
from stap.registry import maker
from stap.studies.people import tested
from stap.train import journal, run
from stap.train.config import TrainConfig
from stap.weights import model_file

Lines = list[dict[str, Any]]  # a run's log
Person = dict[str, float]  # n, and every metric
PROTOCOLS = ("stream", "paper")


def trained(folder: Path, corpus: Corpus, settings: TrainConfig, watch: run.Watch | None = None) -> Lines:
    """Train to the end, or go on; what the run logged."""
    run.train(corpus, settings, folder, "a study's people", "either", words=False, watch=watch)
    return journal.read(folder / run.JOURNAL)


def testing(folder: Path, corpus: Corpus) -> Corpus:
    """The people whom a run kept for testing."""
    kept = set(tested(folder))
    return corpus.select(np.array([n for n, name in enumerate(corpus.users) if name in kept], np.int64))


def vocabulary(model: Path) -> int:
    return weights.read_config(model_file(model)).vocabulary


def persons(corpus: Corpus, name: str, protocol: str, terms: Terms, model: Path | None = None) -> dict[str, Person]:
    """Everybody's figures with one predictor."""
    make = maker(name, model_file(model) if model else None, protocol=protocol)
    ranks = stream(corpus, make) if protocol == "stream" else paper(corpus, make, terms)
    users: dict[str, Person] = report(ranks, protocol)["users"]
    return users


def pooled(persons: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """All their predictions together."""
    rows = [row for row in persons if row["n"]]
    count = sum(row["n"] for row in rows)
    return {name: sum(row["n"] * row[name] for row in rows) / max(1, count) for name in NAMES}


def spread(values: Iterable[float]) -> str:
    """Over seeds: 28.31 ± 0.12."""
    all_of_them = list(values)
    deviation = f" ± {np.std(all_of_them, ddof=1):.2f}" if len(all_of_them) > 1 else ""
    return f"{np.mean(all_of_them):.2f}{deviation}"
