"""STAP in three lines: load, say what was opened and closed, ask what comes next. torch is not needed.

    predictor = Predictor.load()
    predictor.opened("Mail", datetime.now())
    predictor.rank(5, at=datetime.now())

A Predictor is one person's; `fresh` gives the next person one over the same weights.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

import polars as pl

from stap import usage
from stap.engine import EngineModel, Settings
from stap.errors import BadInput
from stap.events import CLOSE, DAY, EPOCH, OPEN, Event, Moment, Ranking, from_table, merged
from stap.files import replacing
from stap.phi import seed_of
from stap.steady import steady, wanted
from stap.weights import model_file, shipped
from stap.why import Reason

EVERY = 4096  # more apps than a session keeps
When = datetime | float  # the person's wall clock: a time, or minutes since 1970 (or any other midnight)


class Predictor:
    """One person's history, and what they will open next."""

    def __init__(self, model: EngineModel, user: str = "") -> None:
        self._model = model
        self._session = model.predictor(Settings(seed=seed_of(user)))

    @classmethod
    def load(cls, path: Path | str | None = None, user: str = "") -> Self:
        """With the model in a file or a run's folder, or the one that ships with stap; phi is drawn from the user."""
        return cls(EngineModel(shipped() if path is None else model_file(Path(path))), user)

    def fresh(self, user: str = "") -> Self:
        """A predictor for somebody else, over the same copy of the weights."""
        return type(self)(self._model, user)

    def opened(self, app: str, when: When) -> None:
        self.observe(_event(app, OPEN, when))

    def closed(self, app: str, when: When) -> None:
        self.observe(_event(app, CLOSE, when))

    def observe(self, event: Event) -> None:
        """Events come in the order of time; a close may be left out where a log has none."""
        self._session.observe(event)

    def replay(self, table: pl.DataFrame) -> None:
        """Observe a whole usage table (user, app, start, end) of one person, as `stap import` writes it."""
        table = usage.validate(table, "usage table")
        if table["user"].n_unique() > 1:
            raise BadInput("usage table", "several users in it", "a predictor is one person's: choose one")
        launches = "home" in table.columns  # then an app that came again is told apart from one that stayed
        corpus = from_table(table.sort("start", maintain_order=True)) if launches else merged(table)
        for pair in corpus.events(0):
            for event in pair:
                self.observe(event)

    def rank(
        self, k: int = 5, at: When | None = None, among: Collection[str] | None = None, without: Collection[str] = ()
    ) -> Ranking:
        """The k likeliest apps among those seen, with their probabilities, best first.

        Asked `at` a time, of an app that is launched then: the one used last may come again. Otherwise of the next
        other app. `among`: only these, e.g. what is installed; `without`: never these, e.g. what somebody hid.
        """
        moment = None if at is None else Moment(*_clock(at))
        if among is None and not without:
            return self._session.rank(k, moment)
        wanted = [
            (app, share)
            for app, share in self._session.rank(EVERY, moment)
            if (among is None or app in among) and app not in without
        ]
        return wanted[: max(k, 0)]

    def why(self, app: str, at: When | None = None, k: int = 3) -> list[Reason]:
        """The strongest reasons for the app's place in `rank(..., at)`, data and sentences; none: nothing special.

        A group of statistics is a reason where the app would score lower if it said of it what it says on average.
        """
        return self._session.why(app, None if at is None else Moment(*_clock(at)), k)

    def steady(
        self,
        row: Sequence[str],
        k: int | None = None,
        at: When | None = None,
        among: Collection[str] | None = None,
        without: Collection[str] = (),
        margin: float = 1.0,
    ) -> list[str]:
        """The row of apps that is shown now, adapted: its set is that of `rank`, and who stays keeps the slot.

        k: if the row shall have another length. margin: who is shown goes only for somebody so many times likelier.
        """
        if not margin >= 1.0:
            raise BadInput("steady", f"a margin of {margin}", "give a factor of at least 1")
        slots = k if k is not None else len(row) or 5
        return steady(row, wanted(self.rank(EVERY, at, among, without), max(slots, 0), row, margin))

    def unseen(self) -> float:
        """How likely the next app is one never seen before; all probabilities and this one sum to 1."""
        return self._session.unseen()

    def catch_up(self) -> None:
        """Do some of the coming work now, while nobody waits: afterwards `rank` is quick. Never needed."""
        self._session.catch_up()

    def save(self, path: Path | str) -> None:
        """Keep the state in a file, written beside and renamed."""
        with replacing(Path(path)) as draft:
            draft.write_bytes(self._session.snapshot())

    def restore(self, path: Path | str) -> Self:
        """Go on where `save` was called, with the same model; what was observed since is gone. Gives itself back."""
        try:
            state = Path(path).read_bytes()
        except OSError as error:
            raise BadInput(str(path), f"cannot read it ({error.strerror})", "check the path") from None
        try:
            self._session = self._model.restore(state)
        except BadInput as error:
            raise BadInput(str(path), error.why, error.remedy) from None
        return self


def _event(app: str, action: int, when: When) -> Event:
    return Event(app, action, *_clock(when))


def _clock(when: When) -> tuple[float, float]:
    """Minutes, and the hour of day."""
    if isinstance(when, datetime):
        minutes = (when.replace(tzinfo=None) - EPOCH) / timedelta(minutes=1)
    elif isinstance(when, int | float):
        minutes = float(when)
    else:
        raise BadInput("event", f"{when!r} is no time", "give a datetime, or minutes as a number")
    hour = minutes % DAY / 60.0
    return minutes, hour if hour < 24 else 0.0  # a hair before midnight can round up to it
