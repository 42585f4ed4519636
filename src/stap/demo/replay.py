"""Replay one user's log through a predictor, moment by moment, as a person would watch it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from stap.events import NO_LABEL, Corpus, Ranking, clock
from stap.predictors.base import Predictor
from stap.terminal import Tick, quiet


@dataclass(frozen=True)
class Frame:
    """An app was just closed; this is what the predictor expects next, and what came."""

    time: datetime
    closed: str
    ranking: Ranking
    came: str

    @property
    def place(self) -> int | None:
        """From 1, None when what came is not in the ranking."""
        return next((place for place, (app, _) in enumerate(self.ranking, 1) if app == self.came), None)


def frames(corpus: Corpus, user: int, predictor: Predictor, tick: Tick = quiet) -> Iterator[Frame]:
    """After every close with a known next app."""
    rows = corpus.rows(user)
    for (opened, closed), code in zip(corpus.events(user, rows), corpus.label[rows].tolist(), strict=True):
        predictor.observe(opened)
        predictor.observe(closed)
        tick(1)
        if code != NO_LABEL:
            yield Frame(clock(closed.minutes), closed.app, predictor.rank(5), corpus.apps[user][code])
