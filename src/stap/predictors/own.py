"""A researcher's own predictor, in the same tables as ours: MODULE:CLASS, imported because somebody named it.

It is watched while it predicts. What it gets wrong is said in one line, and never becomes a figure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any

from stap.errors import BadInput, first_line, short
from stap.events import Event, Moment, Ranking
from stap.notices import Notice
from stap.predictors.base import Predictor, TakesNotices

CONTRACT = "a predictor has observe(event) and rank(k, at=None) -> [(app, probability), ...]"
MEND = "mend it; STAP_TRACE=1 shows the whole trace"
SURE = 1 + 1e-6  # the most a probability can be, and what rounding adds


@dataclass(frozen=True)
class Own:
    """Makes predictors of a class that is not ours, each watched."""

    make: Callable[[], Any]
    name: str

    def __call__(self) -> Watched:
        return self.of("")

    def of(self, user: str) -> Watched:
        try:
            predictor = self.make()
        except Exception as error:
            raise BadInput(
                self.name, f"making one raised {_said(error)}", f"it is made without arguments; {MEND}"
            ) from error
        for method in ("observe", "rank"):
            if not callable(getattr(predictor, method, None)):
                raise BadInput(self.name, f"no predictor: it has no {method}", CONTRACT)
        return Watched(predictor, self.name, user)


def load(name: str) -> Own:
    """The class that MODULE:CLASS names, from this folder or wherever Python finds modules."""
    module, _, attribute = name.partition(":")
    if not attribute.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise BadInput("predictors", f"{short(name)} is not MODULE:CLASS", "write e.g. my_module:MyPredictor")
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)  # last: a file of this folder takes no other module's place
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise BadInput(name, f"{module} needs {error.name}, which is not installed", "install it") from error
        remedy = f"go to the folder of {module.split('.')[0]}.py, or put that folder into PYTHONPATH"
        raise BadInput(name, f"no module {error.name} here", remedy) from None
    except (Exception, SystemExit) as error:
        raise BadInput(name, f"importing {module} raised {_said(error)}", MEND) from error
    made = getattr(found, attribute, None)
    if not callable(made):
        what = f"{module} has no {attribute}" if made is None else f"{attribute} is no class"
        raise BadInput(name, what, f"look into {getattr(found, '__file__', None) or module}")
    own = Own(made, name)
    own()  # a class that is no predictor is better heard of before a minute of work
    return own


class Watched:
    """A predictor whose every answer is looked at before it counts."""

    def __init__(self, predictor: Predictor, name: str, user: str) -> None:
        self._predictor, self._name, self._user = predictor, name, user
        self._seen: set[str] = set()
        self._events = 0
        self._takes_moment = _takes_two(predictor.rank)
        if isinstance(predictor, TakesNotices):
            self.notified = self._notified  # only who has it takes notifications

    def observe(self, event: Event) -> None:
        self._events += 1
        self._seen.add(event.app)
        self._done(self._predictor.observe, event)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        if at is not None and not self._takes_moment:
            raise self._wrong("its rank takes no moment", "write rank(self, k, at=None), or add --protocol stream")
        return self._checked(self._done(self._predictor.rank, k, *(() if at is None else (at,))), k)

    def _notified(self, notice: Notice) -> None:
        self._done(self._predictor.notified, notice)  # type: ignore[attr-defined] # (it was looked for)

    def _done(self, method: Callable[..., Any], *given: Any) -> Any:
        try:
            return method(*given)
        except Exception as error:
            raise self._wrong(f"{method.__name__} raised {_said(error)}", MEND) from error

    def _checked(self, ranking: Any, k: int) -> Ranking:
        """At most k apps that were seen, each once, best first, with probabilities."""
        if not isinstance(ranking, list | tuple) or not all(
            isinstance(row, list | tuple) and len(row) == 2 for row in ranking
        ):
            raise self._wrong(f"rank gave {short(ranking)}", "give a list of (app, probability)")
        if len(ranking) > k:
            raise self._wrong(f"rank({k}) gave {len(ranking)} apps", "give at most k: ranking[:k]")
        before, listed = SURE, set()
        for app, given in ranking:
            probability = self._probability(app, given)
            if not isinstance(app, str) or app not in self._seen:
                raise self._wrong(f"rank lists {short(app)}, which was never opened", "rank apps that were observed")
            if app in listed:
                raise self._wrong(f"rank lists {short(app)} twice", "list every app once")
            if probability > before:
                raise self._wrong(
                    f"{short(app)} with {probability:g} comes after {before:g}", "sort by probability, best first"
                )
            before = probability
            listed.add(app)
        return [(app, float(probability)) for app, probability in ranking]

    def _probability(self, app: object, given: Any) -> float:
        try:
            probability = float(given)
        except (TypeError, ValueError, OverflowError):
            probability = float("nan")
        if not 0.0 <= probability <= SURE:
            raise self._wrong(f"{short(app)} has the probability {short(given)}", "give one from 0 to 1")
        return probability

    def _wrong(self, why: str, remedy: str) -> BadInput:
        whose = f" of {self._user!r}" if self._user else ""
        return BadInput(self._name, f"after {self._events:,} events{whose}: {why}", remedy)


def _takes_two(method: Callable[..., Any]) -> bool:
    try:
        signature(method).bind(1, None)
    except TypeError:
        return False
    except ValueError:  # a method that cannot be looked into
        return True
    return True


def _said(error: BaseException) -> str:
    what, words = type(error).__name__, first_line(error)
    return what if words == what else f"{what} ({words[:200]})"
