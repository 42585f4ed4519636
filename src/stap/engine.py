"""STAP on the native engine: the default predictor. torch is not needed.

A model is read once and shared by any number of predictors, one a person:

    model = EngineModel(path)
    predictor = model.predictor()
    predictor.observe(event)
    predictor.rank(5)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stap import _engine
from stap.errors import BadInput, short
from stap.events import Event, Moment, Ranking
from stap.files import as_path, regular
from stap.notices import Notice
from stap.why import KINDS, Reason

Dtype = Literal["fp32", "fp16", "int8"]
Strategy = Literal["iswi", "reset", "re-prefill", "rolling"]
Kernels = Literal["best", "scalar", "avx2", "avx512", "neon"]

# Places are the numbers of engine/include/stap.h.
DTYPES: tuple[str, ...] = ("fp32", "fp16", "int8")
STRATEGIES: tuple[str, ...] = ("iswi", "reset", "re-prefill", "rolling")
KERNELS: tuple[str, ...] = ("best", "scalar", "avx2", "avx512", "neon")
AS_STORED = 3
NO_MEMORY, UNKNOWN_APP, NOTHING_OBSERVED, BROKEN = 2, 8, 10, 16  # statuses
OTHER = Moment(2e300, 0.0)  # instead of a moment: of the next other app
MOST = 1 << 20  # apps; a session keeps far fewer
DEFAULT_CACHE: Dtype = "int8"

_SETTINGS_REMEDY = "check context, app_limit, seed and kernels"
_MODEL_REMEDY = "use a model that `stap train` or `stap export` wrote"
_BROKEN_REMEDY = "restore a snapshot or replay the log"


@dataclass(frozen=True)
class Settings:
    """How a predictor keeps its context; the defaults are what ships."""

    strategy: Strategy = "iswi"
    cache: Dtype = DEFAULT_CACHE
    context: int = 0  # events; 0: as long as the model was trained for
    kernels: Kernels = "best"
    app_limit: int = 0  # virtual indices phi may use; 0: all
    seed: int = 0
    last_word: bool = True  # each person's launches correct the model; False: the model alone, for comparison


def _place(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise BadInput("engine settings", f"no {short(name)}", f"choose one of {', '.join(names)}")
    return names.index(name)


def how_many(k: int) -> int:
    """A number of apps to rank, whatever was given for it; there are never more than MOST."""
    try:
        count = index(k)
    except TypeError:
        count = -1
    if count < 0:
        raise BadInput("ranking", f"{short(k)} is no number of apps", "ask for a whole number from 0 up")
    return min(count, MOST)


def _refusal(error: _engine.EngineError, where: str, remedy: str) -> BadInput:
    """What the engine refused. A session that memory did not suffice for is of no more use."""
    status, why = error.args
    return BadInput(where, why, _BROKEN_REMEDY if status in (NO_MEMORY, BROKEN) else remedy)


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    try:
        yield
    except _engine.EngineError as error:
        raise _refusal(error, where, _MODEL_REMEDY) from None


class EngineModel:
    """A model file in memory, once for all predictors. `weights` converts while reading."""

    def __init__(self, path: Path | str, weights: Dtype | None = None) -> None:
        path = regular(as_path(path))
        dtype = AS_STORED if weights is None else _place(weights, DTYPES)
        try:
            self._model = _engine.Model.load(str(path), dtype)
        except _engine.EngineError as error:
            raise BadInput(str(path), error.args[1].removeprefix(f"{path}: "), _MODEL_REMEDY) from None

    @property
    def vocabulary(self) -> int:
        return self._model.vocabulary

    @property
    def context(self) -> int:
        return self._model.context

    @property
    def evidence(self) -> int:
        """Width of the evidence head; 0: none."""
        return self._model.evidence

    @property
    def weights(self) -> str:
        return DTYPES[self._model.weights]

    @property
    def weight_bytes(self) -> int:
        return self._model.weight_bytes

    def predictor(self, settings: Settings | None = None) -> EnginePredictor:
        """A fresh predictor for one person."""
        wanted = settings or Settings()
        try:
            session = self._model.session(
                strategy=_place(wanted.strategy, STRATEGIES),
                context=wanted.context,
                cache=_place(wanted.cache, DTYPES),
                kernels=_place(wanted.kernels, KERNELS),
                app_limit=wanted.app_limit,
                seed=wanted.seed,
                last_word=wanted.last_word,
            )
        except _engine.EngineError as error:
            raise BadInput("engine settings", error.args[1], _SETTINGS_REMEDY) from None
        except TypeError:
            raise BadInput("engine settings", f"{short(wanted)} has no possible number", _SETTINGS_REMEDY) from None
        return EnginePredictor(session)

    def restore(self, snapshot: bytes, kernels: Kernels = "best") -> EnginePredictor:
        """The predictor that a snapshot was taken of; "best" keeps its kernels, and with them every bit."""
        try:
            return EnginePredictor(self._model.restore(snapshot, _place(kernels, KERNELS)))
        except _engine.EngineError as error:
            raise BadInput("snapshot", error.args[1], "use a snapshot of this very model, or replay the log") from None


class EnginePredictor:
    """One person's session. Any number of threads may use it: each call is done alone."""

    def __init__(self, session: _engine.Session) -> None:
        self._session = session

    def observe(self, event: Event) -> None:
        try:
            self._session.observe(event.app, event.action, event.minutes, event.hour)
        except _engine.EngineError as error:
            raise _refusal(error, "event", f"mend {short(event)}") from None
        except (TypeError, AttributeError):
            why = "its app is no text, or its time no number"
            raise BadInput("event", why, f"mend {short(event)}") from None

    def observe_all(self, events: Sequence[Event]) -> None:
        """One after the other, in one call, while other threads go on. Those before one that is refused are known."""
        try:
            self._session.observe_all(list(events))
        except _engine.EngineError as error:
            raise _refusal(error, "events", f"mend one of {len(events):,}") from None
        except TypeError:
            raise BadInput("events", "one has an app that is no text, or a time that is no number", "mend it") from None

    def notified(self, notice: Notice) -> None:
        """Counts until the app is opened, a day at most, where a launch is asked about."""
        try:
            self._session.notify(notice.app, notice.minutes)
        except _engine.EngineError as error:
            raise _refusal(error, "notification", f"mend {short(notice)}") from None
        except (TypeError, AttributeError):
            why = "its app is no text, or its time no number"
            raise BadInput("notification", why, f"mend {short(notice)}") from None

    def forget(self, app: str) -> None:
        """No trace of its name stays; opened again, it is a new app."""
        unknown = BadInput("forget", f"no app {short(app)} was seen", "name one that was opened or notified")
        try:
            self._session.forget(app)
        except TypeError:
            raise unknown from None
        except _engine.EngineError as error:
            raise (unknown if error.args[0] == UNKNOWN_APP else _refusal(error, "forget", _MODEL_REMEDY)) from None

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        k = how_many(k)
        return self._ranked(lambda: self._session.rank(k) if at is None else self._session.rank_at(k, *at)[0])

    def rank_among(
        self, k: int, at: Moment | None = None, among: Collection[str] | None = None, without: Collection[str] = ()
    ) -> Ranking:
        """The same of some apps only: `among` these, and `without` those. Probabilities stay those of the whole."""
        k = how_many(k)
        try:
            only, never = None if among is None else list(among), list(without)
            return self._ranked(lambda: self._session.rank_among(k, *(at or OTHER), only, never)[0])
        except TypeError:
            raise BadInput("ranking", "a name in among or without is no text", "give apps' names") from None

    def _ranked(self, ask: Callable[[], Ranking]) -> Ranking:
        try:
            return ask()
        except _engine.EngineError as error:
            if error.args[0] == NOTHING_OBSERVED:
                return []
            raise _refusal(error, "ranking", _MODEL_REMEDY) from None

    def unseen(self, at: Moment | None = None) -> float:
        """How likely an app never seen before comes next, or is launched then; 0 for a model without evidence."""
        try:
            return self._session.unseen() if at is None else self._session.rank_at(1, at.minutes, at.hour)[1]
        except _engine.EngineError as error:
            if error.args[0] == NOTHING_OBSERVED:
                return 1.0
            raise _refusal(error, "ranking", _MODEL_REMEDY) from None

    def why(self, app: str, at: Moment | None = None, k: int = 3) -> list[Reason]:
        """The strongest reasons for the app's place in what `rank` answers; none: nothing special."""
        try:
            found = self._session.why(app, how_many(k), *(at or OTHER))
        except _engine.EngineError as error:
            if error.args[0] == UNKNOWN_APP:
                raise BadInput("why", f"no app {short(app)} was seen", "name one that was opened") from None
            raise _refusal(error, "why", _MODEL_REMEDY) from None
        except TypeError:
            raise BadInput("why", f"{short(app)} is no app's name", "give it as text") from None
        return [Reason(KINDS[reason[0]], *reason[1:]) for reason in found]

    def catch_up(self, most: int = 32) -> int:
        """Work off at most so many waiting events of the passive cache; what is left. For when nobody waits."""
        with _refusing("catching up"):
            return self._session.catch_up(most)

    def logits(self) -> NDArray[np.float32]:
        """(V,) after the last event."""
        with _refusing("logits"):
            return self._session.logits()

    def index(self, app: str) -> int | None:
        """The virtual index an app holds."""
        with _refusing("index"):
            return self._session.index(app)

    def snapshot(self) -> bytes:
        with _refusing("snapshot"):
            return self._session.snapshot()

    def info(self) -> dict[str, Any]:
        """Events, apps, context, pending, forgotten, cache_bytes, other_bytes, kernels."""
        with _refusing("info"):
            return self._session.info()
