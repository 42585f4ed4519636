"""`stap study people`: every predictor on people nobody trained on, the same positions for all, pooled over folds.

A RUN is the folder of one fold of `stap train --preset shipped`: users.json (who trained, who not), its model
and, where the rival takes part, gbdt.txt. A fold's model and trees meet only that fold's held-out users. --zero-shot
puts one model before everybody of other logs. --anew asks the same of everybody's stretches of so many usages, each
without a past: the cold start, measured on far more positions than everybody's first ones. docs/protocol.md says what
is computed, people_figures.py computes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from stap import terminal
from stap.errors import BadInput
from stap.evaluate import Posted, stream
from stap.events import OPEN, Corpus, Event, Floats, Ints, Moment, Ranking
from stap.jobs import Hands, each
from stap.predictors import CLASSICAL
from stap.predictors.base import ForeseesUnseen, Maker, Predictor, fresh
from stap.registry import maker
from stap.studies.people_figures import Streamed, cold, figures
from stap.weights import model_file

COSTLY = ("stap", "gbdt", "ppm", "blend")  # begun first, so that no process is left alone with them at the end
EVERYBODY = 4096  # more apps than anybody ranks
RUN_REMEDY = "use folders that `stap train` wrote, with --fold K/N or --split A:B:C"


@dataclass(frozen=True)
class Group:
    """People nobody trained on, and the files that predict them."""

    people: Corpus
    model: Path
    ranker: Path | None
    posted: Posted = field(default_factory=dict)  # their notifications

    @property
    def predictors(self) -> tuple[str, ...]:
        return (*CLASSICAL, "stap", "gbdt") if self.ranker else (*CLASSICAL, "stap")


class Note(NamedTuple):
    """What a predictor held likely when it was asked."""

    top: float  # its first choice
    again: float  # the app used last; 0 where the next *other* app is asked for
    unseen: float  # an app never seen before; 0 where it has no idea of these


class Witness:
    """A predictor, with a note at each question. What is asked of a launch WHENEVER it comes is not noted."""

    def __init__(self, predictor: Predictor, notes: list[Note]) -> None:
        self._predictor, self._notes = predictor, notes
        self._current = ""

    def observe(self, event: Event) -> None:
        self._current = event.app if event.action == OPEN else self._current
        self._predictor.observe(event)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        if at is not None and at.whenever:
            return self._predictor.rank(k, at)
        ranking = self._predictor.rank(k if at is None else EVERYBODY, at)
        again = next((share for app, share in ranking if app == self._current), 0.0)
        unseen = self._predictor.unseen(at) if isinstance(self._predictor, ForeseesUnseen) else 0.0
        self._notes.append(Note(ranking[0][1] if ranking else 0.0, again, unseen))
        return ranking[:k]

    def __getattr__(self, name: str) -> Any:
        """Whatever else it can do."""
        return getattr(self._predictor, name)


@dataclass(frozen=True)
class Witnesses:
    """A maker of them."""

    maker: Maker
    notes: list[Note]

    def __call__(self) -> Witness:
        return self.of("")

    def of(self, user: str) -> Witness:
        return Witness(fresh(self.maker, user), self.notes)


def load(group: Group, name: str) -> Maker:
    return maker(name, group.model, group.ranker)


def score(group: Group, name: str) -> tuple[Ints, Floats]:
    """One predictor after every close: (n,) ranks, and of `stap` (n, 2) what its first app and an unseen one had.

    People come one after the other, so the notes are in the order of the positions.
    """
    if name != "stap":
        ranks = stream(group.people, load(group, name))
        return ranks.rank[~ranks.opened], np.empty((0, 2))
    notes: list[Note] = []
    ranks = stream(group.people, Witnesses(load(group, name), notes))
    return ranks.rank[~ranks.opened], np.array([(note.top, note.unseen) for note in notes])[~ranks.opened]


Scores = TypeVar("Scores")


def everywhere(
    score: Callable[[Group, str], Scores], groups: Sequence[Group], names: Sequence[str], processes: int = 1
) -> dict[str, list[Scores]]:
    """Every predictor on every group: what `score` says of each, by predictor."""
    for group in groups:  # a bad file is better heard of now than by another process
        for name in names:
            load(group, name)
    work = [(group, name) for name in sorted(names, key=lambda name: name not in COSTLY) for group in groups]
    found: dict[int, Scores] = {}
    with terminal.progress("streaming", sum(len(group.people.app) for group, _ in work)) as tick:
        for number, scores in each([partial(score, *pair) for pair in work], Hands(processes)):
            found[number] = scores
            tick(len(work[number][0].people.app))
    return {name: [found[number] for number, (_, whose) in enumerate(work) if whose == name] for name in names}


def collect(groups: Sequence[Group], processes: int = 1) -> Streamed:
    """Every predictor on every group, pooled."""
    found = everywhere(score, groups, groups[0].predictors, processes)
    rank = {name: np.concatenate([ranks for ranks, _ in scores]) for name, scores in found.items()}
    top, unseen = np.concatenate([held for _, held in found["stap"]]).T
    return Streamed.over([group.people for group in groups], rank, top, unseen)


def held_out(corpus: Corpus, runs: Sequence[Path]) -> list[Group]:
    """One group a run. Nobody may be scored twice, nor by a model that trained on him."""
    place = {user: index for index, user in enumerate(corpus.users)}
    taken: set[str] = set()
    groups = []
    for run in runs:
        training, testing = _users(run / "users.json")
        for wrong, why in ((training & testing, "both trained and held out"), (taken & testing, "held out twice")):
            if wrong:
                raise BadInput(str(run), f"user {min(wrong)!r} is {why}", RUN_REMEDY)
        if unknown := testing - set(place):
            raise BadInput(str(run), f"user {min(unknown)!r} is not in the log", "give the log of these runs as --data")
        _check_some(run, testing)
        taken |= testing
        people = corpus.select(np.array(sorted(place[user] for user in testing)))
        ranker = run / "gbdt.txt"
        groups.append(Group(people, model_file(run), ranker if ranker.exists() else None))
    without = [str(run) for run, group in zip(runs, groups, strict=True) if group.ranker is None]
    if 0 < len(without) < len(runs):
        raise BadInput(without[0], "no gbdt.txt, though other runs have one", "train it with `stap rival --fold K/N`")
    return groups


def tested(run: Path) -> list[str]:
    """The people whom a run kept for testing."""
    _, testing = _users(run / "users.json")
    _check_some(run, testing)
    return sorted(testing)


def _check_some(run: Path, testing: set[str]) -> None:
    if not testing:
        raise BadInput(str(run), "nobody was held out", RUN_REMEDY)


def _users(path: Path) -> tuple[set[str], set[str]]:
    try:
        split = json.loads(path.read_text())
        training, testing = split["training"], split["testing"]
        if not all(isinstance(user, str) for user in [*training, *testing]):
            raise ValueError
    except OSError as error:
        raise BadInput(str(path), f"cannot read it ({error.strerror})", RUN_REMEDY) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(str(path), "does not list who trained and who was held out", RUN_REMEDY) from None
    return set(training), set(testing)


def run(groups: Sequence[Group], anew: int | None = None, processes: int = 1) -> dict[str, Any]:
    """The figures of these people; with `anew`, also of everybody's stretches of so many usages."""
    summary = figures(collect(groups, processes))
    if anew is not None:
        summary["anew"] = cold(collect([_anew(group, anew) for group in groups], processes))
    return summary


def _anew(group: Group, usages: int) -> Group:
    people = group.people.cut(usages)
    if not people.users:
        raise BadInput("--anew", f"nobody has {usages} usages", "give fewer")
    return replace(group, people=people)
