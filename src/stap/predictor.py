"""STAP in three lines: load, say what was opened and closed, ask what comes next. torch is not needed.

    predictor = Predictor.load()
    predictor.opened("Mail", datetime.now())
    predictor.rank(5, at=datetime.now())

A Predictor is one person's; `fresh` gives the next person one over the same weights.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import chain
from math import inf, isfinite
from numbers import Real
from pathlib import Path
from threading import RLock
from typing import Any, NoReturn, Self

import polars as pl

from stap import usage
from stap.engine import MOST, EngineModel, Settings, how_many
from stap.errors import BadInput, short
from stap.events import CLOSE, DAY, EPOCH, OPEN, Event, Moment, Ranking, from_table, merged
from stap.files import as_path, read_bytes, replacing
from stap.notices import Notice, interleaved, notices
from stap.phi import seed_of
from stap.steady import steady, wanted
from stap.weights import model_file
from stap.why import Reason

LARGEST_STATE = 1 << 32  # bytes
LATEST = 1e8  # minutes either side of 1970, about the years 1780 to 2160
When = datetime | float  # aware; or the wall clock, as a naive time or minutes since 1970 (or any other midnight)


class Predictor:
    """One person's history, and what they will open next.

    Times are aware datetimes, of which minutes are absolute and the hour is the local one, so that neither a journey
    nor the end of summer time confuses them; or, all of them, the person's wall clock.

    Any number of threads may share one: their calls are answered as if made one after the other.
    """

    def __init__(self, model: EngineModel, user: str = "") -> None:
        self._model = model
        self._session = model.predictor(Settings(seed=seed_of(user)))
        self._zoned: bool | None = None  # whether times have come with a zone; None: none has come
        self._telling = RLock()  # held by who observes, so that all threads tell one kind of time

    @classmethod
    def load(cls, path: Path | str | None = None, user: str = "") -> Self:
        """With the model in a file or a run's folder, or the one that ships with stap; phi is drawn from the user."""
        return cls(EngineModel(model_file(None if path is None else as_path(path))), user)

    def fresh(self, user: str = "") -> Self:
        """A predictor for somebody else, over the same copy of the weights."""
        return type(self)(self._model, user)

    def __copy__(self) -> Self:
        """The same history over the same copy of the weights; from here on each goes its own way."""
        copy = self.fresh()
        with self._telling:
            copy._session, copy._zoned = self._model.restore(self._session.snapshot()), self._zoned
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Predictor is not pickled; save(path) it, and restore(path) with the same model")

    def opened(self, app: str, when: When) -> None:
        self._observe(app, OPEN, when)

    def closed(self, app: str, when: When) -> None:
        self._observe(app, CLOSE, when)

    def notified(self, app: str, when: When) -> None:
        """The app asked to be opened; how readily this person follows is learned. Between events, in any order."""
        self._session.notified(Notice(app, *self._clock(when)))

    def forget(self, app: str) -> None:
        """Uninstalled, or wished away: no trace of its name stays. Opened again, it is a new app."""
        self._session.forget(app)

    def observe(self, event: Event) -> None:
        """Events come in the order of time; a close may be left out where a log has none."""
        self._session.observe(event)

    def observe_all(self, events: Sequence[Event]) -> None:
        """The same as `observe` of each, in one call, while other threads go on. A refusal leaves those before it."""
        self._session.observe_all(events)

    def replay(self, table: pl.DataFrame, notifications: pl.DataFrame | None = None) -> None:
        """Observe a whole usage table (user, app, start, end) of one person, as `stap import` writes it.

        And, in their places between, the notifications that lie beside it (user, app, time).
        """
        table = usage.validate(table, "usage table")
        if table["user"].n_unique() > 1:
            raise BadInput("usage table", "several users in it", "a predictor is one person's: choose one")
        launches = "home" in table.columns  # then an app that came again is told apart from one that stayed
        corpus = from_table(table.sort("start", maintain_order=True)) if launches else merged(table)
        posted = {} if notifications is None else notices(usage.validate_notifications(notifications, "notifications"))
        with self._telling:
            self._check_kind(zoned=False)  # a table's times are a wall clock's
            for each in interleaved(chain.from_iterable(corpus.events(0)), posted.get(corpus.users[0], ())):
                if isinstance(each, Notice):
                    self._session.notified(each)
                else:
                    self.observe(each)
            self._zoned = False

    def rank(
        self, k: int = 5, at: When | None = None, among: Collection[str] | None = None, without: Collection[str] = ()
    ) -> Ranking:
        """The k likeliest apps among those seen, with their probabilities, best first.

        Asked `at` a time, of an app that is launched then: the one used last may come again. Otherwise of the next
        other app. `among`: only these, e.g. what is installed; `without`: never these, e.g. what somebody hid.
        Probabilities stay those of the whole.
        """
        moment = None if at is None else Moment(*self._clock(at))
        if among is None and not without:
            return self._session.rank(k, moment)
        only, never = (None if apps is None else _apps(apps) for apps in (among, without or ()))
        return self._session.rank_among(k, moment, only, never or ())

    def why(self, app: str, at: When | None = None, k: int = 3) -> list[Reason]:
        """The strongest reasons for the app's place in `rank(..., at)`, data and sentences; none: nothing special.

        A group of statistics is a reason where the app would score lower if it said of it what it says on average.
        """
        return self._session.why(app, None if at is None else Moment(*self._clock(at)), k)

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
        if not isinstance(margin, Real) or not margin >= 1.0:
            raise BadInput("steady", f"a margin of {short(margin)}", "give a factor of at least 1")
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise BadInput("ranking", f"{short(row)} is no list of apps", "give a list: a row has an order")
        slots = how_many(len(row) or 5 if k is None else k)
        return steady(row, wanted(self.rank(MOST, at, among, without), slots, row, margin))

    def unseen(self, at: When | None = None) -> float:
        """How likely the next app, or what is launched then, was never seen before; with all probabilities it is 1."""
        return self._session.unseen(None if at is None else Moment(*self._clock(at)))

    def catch_up(self) -> None:
        """Do some of the coming work now, while nobody waits: afterwards `rank` is quick. Never needed."""
        self._session.catch_up()

    @property
    def size(self) -> int:
        """Bytes of memory that this person takes, besides the weights that all share."""
        info = self._session.info()
        return int(info["cache_bytes"] + info["other_bytes"])

    def save(self, path: Path | str) -> None:
        """Keep the state in a file that its owner alone reads, written beside and renamed."""
        with replacing(as_path(path), private=True) as draft:
            draft.write_bytes(self._session.snapshot())

    def restore(self, path: Path | str) -> Self:
        """Go on where `save` was called, with the same model; what was observed since is gone. Gives itself back."""
        state = read_bytes(as_path(path), LARGEST_STATE)
        try:
            session = self._model.restore(state)
        except BadInput as error:
            raise BadInput(str(path), error.why, error.remedy) from None
        with self._telling:
            self._session, self._zoned = session, None
        return self

    def _observe(self, app: str, action: int, when: When) -> None:
        with self._telling:
            self.observe(Event(app, action, *self._clock(when)))
            self._zoned = _has_zone(when)

    def _clock(self, when: When) -> tuple[float, float]:
        """Minutes and hour, on the one kind of clock that this predictor is told."""
        clock = _clock(when)
        self._check_kind(_has_zone(when))
        return clock

    def _check_kind(self, zoned: bool) -> None:
        if self._zoned not in (None, zoned):
            why = "times with a zone and times without one do not go together"
            raise BadInput("event", why, "give all of them as aware datetimes, or all as the person's wall clock")


def _apps(names: Collection[str]) -> set[str]:
    try:
        if not isinstance(names, str):
            return set(names)
    except TypeError:
        pass
    raise BadInput("ranking", f"{short(names)} is no list of apps", "give a list or a set of names")


def _has_zone(when: When) -> bool:
    return isinstance(when, datetime) and when.utcoffset() is not None


def _clock(when: When) -> tuple[float, float]:
    """T and H: minutes since 1970, in UTC where the time has a zone and the wall clock's where not; the local hour."""
    if isinstance(when, datetime):
        wall = when.replace(tzinfo=None, fold=0)
        minutes = (wall - EPOCH - (when.utcoffset() or timedelta())) / timedelta(minutes=1)
        hour = (wall - EPOCH) / timedelta(minutes=1) % DAY / 60.0
    elif isinstance(when, Real) and not isinstance(when, bool):
        try:
            minutes = float(when)
        except OverflowError:
            minutes = inf
        hour = minutes % DAY / 60.0 if isfinite(minutes) else 0.0
    else:
        raise BadInput("event", f"{short(when)} is no time", "give a datetime, or minutes as a number")
    if isfinite(minutes) and abs(minutes) > LATEST:
        why = f"{short(when)} is no time of ours, counted in minutes"
        raise BadInput("event", why, "give a datetime; seconds since 1970, as of time.time(), are to be divided by 60")
    return minutes, hour if hour < 24 else 0.0  # a hair before midnight can round up to it
