"""A process that scores: how often `stap`, `again` and `blend` had the app that was launched among their first guesses.

It reads the store, so it disturbs neither the sessions nor who asks of them. A question is a line of JSON on standard
input, an answer one on standard output; it ends when nobody can ask any more. What it has read of a person it keeps,
so that the next question costs what is new.
"""

from __future__ import annotations

import json
import os
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

from stap import registry
from stap.events import CLOSE, OPEN, Event, Moment
from stap.notices import Notice
from stap.predictors.base import Predictor, TakesNotices, fresh
from stap.serve.habits import NOTIFIED, Usage, usages
from stap.serve.models import clock
from stap.serve.store import Row, Store
from stap.serve.worker import questions

NAMES = ("stap", "again", "blend")
DEPTHS = (1, 3, 5)
MOST_PEOPLE = 8  # whose predictors are kept
BEGINNING = -(2**63)
MINUTE = 60e6  # microseconds


class Scorer:
    """One person's predictors, up to where they have seen the history, and what they hit from a day on."""

    def __init__(self, name: str, model: Path, since: str) -> None:
        self._predictors = {each: fresh(registry.maker(each, model, protocol="launch"), name) for each in NAMES}
        self._at, self._seq, self._began = BEGINNING, 0, False
        self._since, self._days = since, dict[str, Counter[str]]()

    def late(self, store: Store, user: int) -> bool:
        """Whether something arrived that belongs before what was read."""
        arrived = store.since(user, self._seq)
        return bool(arrived) and arrived[0].at <= self._at

    def read(self, store: Store, user: int) -> dict[str, dict[str, int]]:
        """The days that have something new: n launches, and hits by predictor and depth. An open usage waits."""
        newest = store.newest(user)
        rows = list(store.after(user, self._at, 2**62, newest))
        found = list(usages(rows))
        going = [usage.start for usage in found if usage.end is None]
        self._at = going[0] - 1 if going else rows[-1].at if rows else self._at
        self._seq = newest
        notices = [row for row in rows if row.kind == NOTIFIED and row.at <= self._at][::-1]
        touched = set()
        for usage in found:
            if usage.end is not None:
                self._notify(notices, usage.start)
                touched.add(self._score(usage))
                self._observe(usage.app, OPEN, usage.start, usage.offset)
                self._notify(notices, usage.end)
                self._observe(usage.app, CLOSE, usage.end, usage.offset)
        return {day: dict(self._days[day]) for day in sorted(touched) if day in self._days}

    def _score(self, usage: Usage) -> str:
        """Who had it among the first guesses, where somebody could know; gives the day."""
        day = clock(usage.start, usage.offset).date().isoformat()
        if self._began and day >= self._since:
            counts = self._days.setdefault(day, Counter())
            counts["n"] += 1
            for name, predictor in self._predictors.items():
                place = _place(predictor, usage)
                counts.update(f"{name}{depth}" for depth in DEPTHS if place <= depth)
        return day

    def _observe(self, app: str, action: int, at: int, offset: int) -> None:
        for predictor in self._predictors.values():
            predictor.observe(Event(app, action, at / MINUTE, _hour(at, offset)))
        self._began = True

    def _notify(self, waiting: list[Row], until: int) -> None:
        while waiting and waiting[-1].at <= until:
            row = waiting.pop()
            for predictor in self._predictors.values():
                if isinstance(predictor, TakesNotices):
                    predictor.notified(Notice(row.app, row.at / MINUTE, _hour(row.at, row.offset)))


def _hour(at: int, offset: int) -> float:
    when = clock(at, offset)
    return when.hour + when.minute / 60 + when.second / 3600


def _place(predictor: Predictor, usage: Usage) -> int:
    ranked = predictor.rank(DEPTHS[-1], Moment(usage.start / MINUTE, _hour(usage.start, usage.offset)))
    return next((place for place, (app, _) in enumerate(ranked, 1) if app == usage.app), DEPTHS[-1] + 1)


def main() -> None:
    os.nice(10)
    store: Store | None = None
    scorers: OrderedDict[int, tuple[Any, Scorer]] = OrderedDict()
    asking = questions()
    while True:
        asked = json.loads(asking.get())
        store, user = store or Store(Path(asked["folder"])), asked["user"]
        known, scorer = scorers.pop(user, (None, None))
        if scorer is None or known != asked["known"] or scorer.late(store, user):
            scorer = Scorer(asked["name"], Path(asked["model"]), asked["since"])
        print(json.dumps(scorer.read(store, user)), flush=True)
        scorers[user] = asked["known"], scorer
        while len(scorers) > MOST_PEOPLE:
            scorers.popitem(last=False)


if __name__ == "__main__":
    main()
