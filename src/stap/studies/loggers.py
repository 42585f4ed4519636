"""`stap study loggers LOG...`: the same people seen by loggers that say less. Does the model still beat the classics?

The order of the apps stays, and with it every answer; only what is known of times and closes changes. A launcher that
embeds the predictor may never say when an app closed, and several formats have one time a record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stap import terminal
from stap.evaluate import report, stream
from stap.events import Corpus, Event, Moment, Ranking, Usages
from stap.predictors.base import Maker, Predictor, fresh
from stap.prior.logger import PLAIN, Logger, record
from stap.registry import maker
from stap.terminal import Tick
from stap.verdict import Figure, publish

RIVALS = ("previous", "markov", "ppm", "blend")
METRICS = ("HR@1", "HR@5", "MRR@5")
LOGGERS = {
    "as logged": PLAIN,
    "instants": replace(PLAIN, closes="instants"),
    "ends at the next start": replace(PLAIN, closes="next start"),
    "30 % of closes lost": replace(PLAIN, lost=0.3),
    "whole minutes": replace(PLAIN, tick=60.0),
}
OPENS = "opens alone"  # as a launcher sees them


class Deaf:
    """A predictor that never hears of a close."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def observe(self, event: Event) -> None:
        if event.action:
            self._predictor.observe(event)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        return self._predictor.rank(k, at)


def seen_by(corpus: Corpus, logger: Logger) -> Corpus:
    """The same usages, as this logger would have timed them."""
    rng = np.random.default_rng(0)
    start, end = corpus.start.copy(), corpus.end.copy()
    for user in range(len(corpus.users)):
        rows = corpus.rows(user)
        seen = record(Usages(corpus.app[rows], start[rows], end[rows]), logger, rng)
        start[rows], end[rows] = seen.start, np.maximum(seen.start, seen.end)
    return replace(corpus, start=start, end=end)


def run(corpus: Corpus, model: Path | None = None) -> dict[str, Any]:
    makers = {name: maker(name, model) for name in (*RIVALS, "stap")}
    table: list[Figure] = []
    with terminal.progress("streaming", (len(LOGGERS) + 1) * len(makers) * len(corpus.app)) as tick:
        for name, logger in LOGGERS.items():
            table += _figures(name, seen_by(corpus, logger), makers, tick)
        table += _figures(OPENS, corpus, {name: DeafMaker(maker) for name, maker in makers.items()}, tick)
    return publish(f"{len(corpus.users):,} people by {len(LOGGERS) + 1} loggers, stream protocol, percent", table)


@dataclass(frozen=True)
class DeafMaker:
    hearing: Maker

    def __call__(self) -> Deaf:
        return self.of("")

    def of(self, user: str) -> Deaf:
        return Deaf(fresh(self.hearing, user))


def _figures(name: str, corpus: Corpus, makers: dict[str, Maker], tick: Tick) -> list[Figure]:
    pooled = {who: report(stream(corpus, maker, tick), "stream")["pooled"] for who, maker in makers.items()}
    figures = []
    for metric in METRICS:
        own, best = pooled["stap"][metric], max(RIVALS, key=lambda who: pooled[who][metric])
        figures.append(Figure(f"{name}: {metric} of `stap`", own, "%"))
        figures.append(Figure.at_least(f"{name}: {metric} over `{best}`", own - pooled[best][metric], "points", 0))
    return figures
