"""Replay one user's log through a predictor, moment by moment, as a person would watch it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from stap.events import Corpus, Moment, Ranking, clock
from stap.predictors.base import Predictor
from stap.terminal import Tick, quiet


@dataclass(frozen=True)
class Frame:
    """Somebody looks at the screen; this is what the predictor expects, and what was opened."""

    time: datetime
    closed: str  # the app used last
    pause: float  # minutes since then
    ranking: Ranking
    came: str

    @property
    def place(self) -> int | None:
        """From 1, None when what came is not in the ranking."""
        return next((place for place, (app, _) in enumerate(self.ranking, 1) if app == self.came), None)


def frames(corpus: Corpus, user: int, predictor: Predictor, tick: Tick = quiet) -> Iterator[Frame]:
    """Asked at every launch but the first, when it comes."""
    before = None
    for opened, closed in corpus.events(user):
        if before is not None:
            ranking = predictor.rank(5, Moment(opened.minutes, opened.hour))
            yield Frame(clock(opened.minutes), before.app, opened.minutes - before.minutes, ranking, opened.app)
        predictor.observe(opened)
        predictor.observe(closed)
        before = closed
        tick(1)
