"""`stap bench people`: every predictor on people nobody trained on, the same positions for all, pooled over folds.

A RUN is one fold's folder, as `stap recipe` writes it: users.json (who trained, who was held out), model.safetensors
and, where the rival takes part, gbdt.txt. A fold's model and trees meet only that fold's held-out users. --zero-shot
puts one model before everybody of other logs. --anew asks the same of everybody's stretches of so many usages, each
without a past: the cold start, measured on far more positions than everybody's first ones. docs/protocol.md says what
is computed, people_figures.py computes it.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import starmap
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from stap import terminal
from stap.engine import EngineModel, EnginePredictor
from stap.errors import BadInput, extra
from stap.evaluate import stream
from stap.events import Corpus, Event, Floats, Ints, Ranking, merged
from stap.predictors import CLASSICAL
from stap.predictors.base import Maker
from stap.sources import read
from stap.studies.people_figures import Streamed, cold, figures, publish, publish_cold

COSTLY = ("stap", "gbdt", "ppm", "blend")  # begun first, so that no process is left alone with them at the end
RUN_REMEDY = "use folders that `stap recipe --fold K/N` wrote, one a fold"


@dataclass(frozen=True)
class Group:
    """People nobody trained on, and the files that predict them."""

    people: Corpus
    model: Path
    ranker: Path | None

    @property
    def predictors(self) -> tuple[str, ...]:
        return (*CLASSICAL, "stap", "gbdt") if self.ranker else (*CLASSICAL, "stap")


@dataclass(frozen=True)
class Scores:
    """One predictor after every close; what it held likely is noted of `stap` only."""

    rank: Ints
    top: Floats  # the first app's probability
    unseen: Floats


class Witness:
    """STAP, with a note at each ranking of what it held likely."""

    def __init__(self, predictor: EnginePredictor, notes: list[tuple[float, float]]) -> None:
        self._predictor, self._notes = predictor, notes

    def observe(self, event: Event) -> None:
        self._predictor.observe(event)

    def rank(self, k: int) -> Ranking:
        ranking = self._predictor.rank(k)
        self._notes.append((ranking[0][1] if ranking else 0.0, self._predictor.unseen()))
        return ranking


def load(group: Group, name: str, notes: list[tuple[float, float]]) -> Maker:
    if name == "stap":
        model = EngineModel(group.model)
        return lambda: Witness(model.predictor(), notes)
    if name == "gbdt":
        maker: Maker = extra("stap.predictors.gbdt").load(group.ranker)
        return maker
    return CLASSICAL[name]


def score(group: Group, name: str) -> Scores:
    """One predictor on a group; people come one after the other, so the notes are in the order of the positions."""
    notes: list[tuple[float, float]] = []
    ranks = stream(group.people, load(group, name, notes))
    closed = ~ranks.opened
    held = np.array(notes if name == "stap" else np.zeros((len(closed), 2))).reshape(-1, 2)[closed]
    return Scores(ranks.rank[closed], held[:, 0], held[:, 1])


def collect(groups: Sequence[Group], processes: int = 1) -> Streamed:
    """Every predictor on every group, pooled."""
    names = groups[0].predictors
    for group in groups:  # a bad file is better heard of now than by another process
        for name in names:
            load(group, name, [])
    work = [(group, name) for name in sorted(names, key=lambda name: name not in COSTLY) for group in groups]
    with terminal.progress("streaming", sum(len(group.people.app) for group, _ in work)) as tick:
        found: dict[str, list[Scores]] = {name: [] for name in names}
        # Spawned, not forked: LightGBM's and polars' threads do not survive a fork.
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            results = pool.map(score, *zip(*work, strict=True)) if processes > 1 else starmap(score, work)
            for (group, name), scores in zip(work, results, strict=True):
                found[name].append(scores)
                tick(len(group.people.app))
    rank = {name: np.concatenate([scores.rank for scores in found[name]]) for name in names}
    top, unseen = (np.concatenate([getattr(scores, part) for scores in found["stap"]]) for part in ("top", "unseen"))
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
        if not testing:
            raise BadInput(str(run), "nobody was held out", RUN_REMEDY)
        taken |= testing
        people = corpus.select(np.array(sorted(place[user] for user in testing)))
        ranker = run / "gbdt.txt"
        groups.append(Group(people, run / "model.safetensors", ranker if ranker.exists() else None))
    without = [str(run) for run, group in zip(runs, groups, strict=True) if group.ranker is None]
    if 0 < len(without) < len(runs):
        raise BadInput(without[0], "no gbdt.txt, though other runs have one", "train it with `stap rival --fold K/N`")
    return groups


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


def run(arguments: Sequence[str]) -> dict[str, Any]:
    parser = ArgumentParser("stap bench people", description="Accuracy on people nobody trained on.")
    parser.add_argument("--data", nargs="+", metavar="LOG", help="what the runs were trained on")
    parser.add_argument("--runs", nargs="+", type=Path, metavar="RUN", help="a folder a fold")
    parser.add_argument("--zero-shot", nargs="+", metavar="LOG", help="logs of other people, for --model")
    parser.add_argument("--model", type=Path, metavar="FILE")
    parser.add_argument("--ranker", type=Path, metavar="FILE", help="trees of `stap rival`, for --zero-shot")
    parser.add_argument("--anew", type=int, metavar="USAGES", help="also with everybody beginning anew so often")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="at the same time (2)")
    given = parser.parse_args(arguments)
    if bool(given.data) != bool(given.runs) or bool(given.zero_shot) != bool(given.model):
        parser.error("--data goes with --runs, --zero-shot with --model")
    if not given.runs and not given.zero_shot:
        parser.error("give --data and --runs, or --zero-shot and --model")
    if given.anew is not None and given.anew < 2:
        parser.error("--anew: at least 2 usages")
    groups = {}
    if given.runs:
        groups["held out"] = held_out(merged(read(given.data).table), given.runs)
    if given.zero_shot:
        groups["zero-shot"] = [Group(merged(read(given.zero_shot).table), given.model, given.ranker)]
    found = {}
    for title, members in groups.items():
        found[title] = figures(collect(members, max(1, given.processes)))
        publish(title, found[title])
        if given.anew:
            found[title]["anew"] = cold(
                collect([_anew(group, given.anew) for group in members], max(1, given.processes))
            )
            publish_cold(f"{title}, anew every {given.anew} usages", found[title]["anew"])
    return found


def _anew(group: Group, usages: int) -> Group:
    people = group.people.cut(usages)
    if not people.users:
        raise BadInput("--anew", f"nobody has {usages} usages", "give fewer")
    return replace(group, people=people)
