"""`stap study deployment`: what a prediction costs while a life goes on, and what the strategies trade for it.

The paper's engine, scalar fp32, gives every event to both instances before it answers; its latency is a sawtooth. What
ships computes in int8 with vectors, and leaves the passive instance for when nobody waits. Both go through one log with
random weights of the paper's sizes: speed does not ask what the weights know. Then the strategies, with a trained model
on everybody. All times are CPU time of the one thread that works.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, ClassVar

import numpy as np
import torch

from stap.describe.canvas import GREY, drawing, plain
from stap.engine import STRATEGIES, EngineModel, EnginePredictor, Settings
from stap.evaluate import report, stream
from stap.events import Event, Floats, Moment, Ranking
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.published import ENGINE, MARK
from stap.registry import Stap
from stap.studies import runs
from stap.studies.experiment import Experiment, Found, Job, Outcome, file_hash
from stap.studies.populations import NamedPeople
from stap.terminal import Grid

EVENTS = {"toy": 160, "here": 6700, "paper": 20_000}  # of the longest log; the paper has "more than 3300 app events"
TOY = ModelConfig(vocabulary=200, context=64, dim=32, layers=2, heads=2, hidden=32)
USAGES = {"toy": 100, "here": None, "paper": None}  # of each person at most, for the strategies
ENGINES: dict[str, tuple[Any, Settings]] = {
    "scalar fp32, as in the paper": ("fp32", Settings(cache="fp32", kernels="scalar")),
    "int8 with vectors, as it ships": ("int8", Settings()),
}
STRETCH = 16  # events, of which a result's file has the median
PUBLISHED = (f"{MARK}: scalar fp32", "", "", *ENGINE.values())
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
MARKS = ("o", "s", "^", "D")
EXPLAINED = (
    "Left: how long a person waits after each event of one log, at the paper's sizes. The paper's engine serves both "
    "instances at every event, so it jumps when the second one begins; what ships serves the passive one when nobody "
    "waits. "
    "Right: what each strategy gains or loses in accuracy, beside iswi, by the time of its slowest hundredth of events "
    "(filled) and of its slowest one (empty)."
)


@dataclass(frozen=True)
class Deployment(Experiment):
    people: tuple[NamedPeople, ...]
    model: Path
    name: ClassVar[str] = "deployment"
    question: ClassVar[str] = "What does a prediction cost while a life goes on, and what do the strategies trade?"

    def about(self) -> dict[str, Any]:
        return {"data": {each.name: each.about() for each in self.people}, "model": file_hash(self.model)}

    def jobs(self) -> list[Job]:
        return [
            *(Job(f"engine-{n}", sawtooth, (self.people[0], name, self.scale)) for n, name in enumerate(ENGINES)),
            *(
                Job(f"{n}-{strategy}", measure, (people, self.model, strategy, USAGES[self.scale]))
                for n, people in enumerate(self.people)
                for strategy in STRATEGIES
            ),
        ]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        engines = {name: found[f"engine-{n}"] for n, name in enumerate(ENGINES)}
        strategies = {
            people.name: {strategy: found[f"{n}-{strategy}"] for strategy in STRATEGIES}
            for n, people in enumerate(self.people)
        }
        tables = (_latency(engines), _threads(engines), *(_traded(*row) for row in strategies.items()))
        shown = {name: _thinned(found) for name, found in engines.items()}
        return Outcome({"engines": shown, "strategies": strategies}, tables, _draw(engines, strategies))


def _thinned(found: Found) -> Found:
    """The median of every STRETCH events instead of all of them."""

    def medians(name: str) -> list[float]:
        whole = len(found[name]) // STRETCH * STRETCH
        medians: list[float] = np.median(np.reshape(found[name][:whole], (-1, STRETCH)), axis=1).round(3).tolist()
        return medians

    return found | {"every": STRETCH, "active": medians("active"), "passive": medians("passive")}


def sawtooth(people: NamedPeople, engine: str, scale: str) -> Found:
    """Milliseconds of both instances' work at every event of the longest log, random weights of the paper's sizes."""
    corpus, (dtype, settings) = people.read(), ENGINES[engine]
    longest = int(np.diff(corpus.offsets).argmax())
    config = TOY if scale == "toy" else ModelConfig()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.safetensors"
        weights.save(Transformer(config), path)
        model = EngineModel(path, dtype)
    predictor, watch = model.predictor(settings), Watch()
    load = os.getloadavg()[0]
    for event in islice(chain.from_iterable(corpus.events(longest)), EVENTS[scale]):
        Watched(predictor, watch).take(event)
    return {
        "context": config.context,
        "active": np.round(watch.active, 4).tolist(),
        "passive": np.round(watch.passive, 4).tolist(),
        "busy": {"load before": load, "load after": os.getloadavg()[0], "wall / CPU": watch.wall / watch.cpu},
        "weights MB": model.weight_bytes / 1e6,
        "session MB": _megabytes(predictor),
    }


@dataclass
class Watch:
    """Milliseconds of CPU time at each event: what is waited for, and the passive instance after it."""

    active: list[float] = field(default_factory=list)
    passive: list[float] = field(default_factory=list)
    wall: float = 0.0  # seconds of the active work by the clock
    cpu: float = 0.0  # the same in CPU time


class Watched:
    """A predictor under a watch: observe + rank is one answer, and its passive instance follows at once."""

    def __init__(self, predictor: EnginePredictor, watch: Watch) -> None:
        self.predictor, self.watch = predictor, watch
        self.began = self.clock = 0.0

    def observe(self, event: Event) -> None:
        self.clock, self.began = perf_counter(), thread_time()
        self.predictor.observe(event)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        ranking = self.predictor.rank(k, at)
        answered = thread_time()
        self.watch.wall += perf_counter() - self.clock
        self.predictor.catch_up(1 << 20)
        self.watch.active.append(1e3 * (answered - self.began))
        self.watch.passive.append(1e3 * (thread_time() - answered))
        self.watch.cpu += answered - self.began
        return ranking

    def take(self, event: Event) -> None:
        self.observe(event)
        self.rank(5)


def measure(people: NamedPeople, model: Path, strategy: Any, most: int | None) -> Found:
    """One strategy on everybody: latency, memory of the largest session, accuracy."""
    watch, corpus, persons, held = Watch(), people.read(most), [], []
    maker = Stap(EngineModel(model, "int8"), settings=Settings(strategy=strategy))
    for user, name in enumerate(corpus.users):
        predictor = maker.of(name)
        ranks = stream(corpus.select(np.array([user])), partial(Watched, predictor, watch))
        persons.append(report(ranks, "stream")["pooled"])
        held.append(_megabytes(predictor))
    times = _quantiles(np.array(watch.active)) | {"passive": float(np.mean(watch.passive))}
    return runs.pooled(persons) | times | {"MB": max(held), "n": sum(person["n"] for person in persons)}


def _megabytes(predictor: EnginePredictor) -> float:
    info = predictor.info()
    return float(info["cache_bytes"] + info["other_bytes"]) / 1e6


def _quantiles(milliseconds: Floats) -> dict[str, float]:
    return dict(zip(("p50", "p99", "max"), np.percentile(milliseconds, (50, 99, 100)).tolist(), strict=True))


def waited(engine: str, found: Found) -> Floats:
    """What a person waits for after each event: in the paper's engine for both instances."""
    active, passive = np.array(found["active"]), np.array(found["passive"])
    return active + passive if engine == next(iter(ENGINES)) else active


def _latency(engines: Mapping[str, Found]) -> Grid:
    rows: list[tuple[str, ...]] = [PUBLISHED]
    for name, found in engines.items():
        held = (found["weights MB"], found["session MB"])
        times = _quantiles(waited(name, found)).values()
        rows.append((name, *(f"{value:.2f}" for value in times), *(f"{each:.1f}" for each in (*held, sum(held)))))
    headers = ("engine", "p50 ms", "p99 ms", "largest ms", "weights MB", "the rest MB", "in all MB")
    busy = "; ".join(
        f"{name}: load {found['busy']['load before']:.1f} to {found['busy']['load after']:.1f}, wall clock "
        f"{found['busy']['wall / CPU']:.2f} times the CPU time"
        for name, found in engines.items()
    )
    return Grid("Waiting after each event of one log, the paper's sizes", headers, rows, f"How busy it was: {busy}.")


def _threads(engines: Mapping[str, Found]) -> Grid:
    """Two threads cannot be done before the slower of both instances is."""
    rows = []
    for name, found in engines.items():
        active, passive = np.array(found["active"]), np.array(found["passive"])
        now, best = waited(name, found), np.maximum(active, passive)
        best = np.minimum(now, best)  # nobody has to wait for the passive one
        figures = (active.mean(), passive.mean(), *np.percentile(now, (50, 99)), *np.percentile(best, (50, 99)))
        replay = (active + passive).sum() / np.maximum(active, passive).sum()
        rows.append((name, *(f"{value:.2f}" for value in figures), f"{replay:.2f}"))
    headers = (
        "engine",
        "active",
        "passive",
        "now p50",
        "now p99",
        "at best p50",
        "at best p99",
        "replay, times faster",
    )
    said = (
        "Milliseconds an event. At best: each instance on a thread of its own, and switching costs nothing. Replay: "
        "how many times faster a whole log could be read."
    )
    return Grid("What two threads could gain", headers, rows, said)


def _traded(people: str, strategies: Mapping[str, Found]) -> Grid:
    metrics = ("HR@1", "HR@3", "HR@5", "MRR@5")
    rows = [
        (strategy, *(f"{found[key]:.2f}" for key in ("p50", "p99", "max", "MB", *metrics)))
        for strategy, found in strategies.items()
    ]
    count = int(strategies["iswi"]["n"])
    said = f"Stream protocol, percent, after each close: {count:,} predictions. MB of the largest session, no weights."
    return Grid(
        f"Strategies: {plain(people)}", ("strategy", "p50 ms", "p99 ms", "largest ms", "MB", *metrics), rows, said
    )


def _draw(engines: Mapping[str, Found], strategies: Mapping[str, Mapping[str, Found]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (12, 5.6), EXPLAINED) as figure:
            left, right = figure.subplots(1, 2, width_ratios=(3, 2))
            for (name, found), colour in zip(engines.items(), COLOURS, strict=False):
                left.plot(waited(name, found), ".", markersize=1.5, color=colour, label=name)
            left.axhline(50, color=GREY, linestyle="--", linewidth=1.5, label="the paper's bound, as published")
            left.set(yscale="log", xlabel="event", ylabel="CPU milliseconds", title="Waiting after each event")
            left.set_ylim(top=50 * left.get_ylim()[1] ** 0.5)
            left.legend(frameon=False, markerscale=6, loc="upper left")
            for (people, row), mark in zip(strategies.items(), MARKS * len(strategies), strict=False):
                for (strategy, found), colour in zip(row.items(), COLOURS, strict=True):
                    ahead = found["HR@1"] - row["iswi"]["HR@1"]
                    times, style = [found["p99"], found["max"]], {"color": colour, "markersize": 9}
                    right.plot(times, [ahead, ahead], "-", linewidth=1, gid=f"{plain(people)}: {strategy}", **style)
                    right.plot(times[:1], [ahead], mark, label=f"{plain(people)}: {strategy}", **style)
                    right.plot(times[1:], [ahead], mark, markerfacecolor="white", gid="its slowest", **style)
            right.set(xscale="log", xlabel="CPU milliseconds: p99, and the largest", ylabel="points of HR@1 from iswi")
            right.set(title="Accuracy against latency")
            right.legend(frameon=False, fontsize=9, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14))
            for axis in (left.yaxis, right.xaxis):
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")

    return draw
