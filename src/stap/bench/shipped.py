"""`stap bench shipped`: what a launcher waits for at every event, and what a session of the shipped model holds.

Beside it in the same run, on the same events: the same weights in PyTorch, and `blend`, the best classical predictor.
"""

from __future__ import annotations

from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np

from stap import prior
from stap.bench.invented import Timed, events, megabytes
from stap.engine import EngineModel, EnginePredictor
from stap.errors import extra
from stap.events import DAY, Event, Moment
from stap.predictors.blend import Blend
from stap.verdict import Figure, publish
from stap.weights import shipped

EVENTS = 10_000
PEER_EVENTS = 600  # from the middle on, when every context is full
HEAVY_APPS, HEAVY_EVENTS = 500, 100_000  # of a person whose tables are full
MOST_MS, MOST_MB = 1, 80
WAITS = np.geomspace(0.1, 600.0, 10)  # minutes after an event at which somebody looks at the screen


def run() -> dict[str, Any]:
    corpus = prior.people(1, seed=2, usages=(EVENTS // 2, EVENTS // 2 + 1))
    history = list(chain.from_iterable(corpus.events(0)))[:EVENTS]
    model = EngineModel(shipped())
    predictor = model.predictor()
    took = Timed(predictor, history).wall
    p50, p99, longest = np.percentile(took, [50, 99, 100])
    figures = [
        Figure("observe + rank, p50", p50, "ms"),
        Figure.at_most("observe + rank, p99", p99, "ms", MOST_MS),
        Figure("observe + rank, longest", longest, "ms"),
        Figure.at_most("weights, caches, evidence", model.weight_bytes / 1e6 + megabytes(predictor), "MB", MOST_MB),
        Figure("apps of this person", float(corpus.app_counts[0]), "apps"),
    ]
    another = model.predictor()
    for event in history[: EVENTS // 2]:
        another.observe(event)
    figures += _asked(another, history[EVENTS // 2 :][:PEER_EVENTS], "asked ten times after an event")
    peers = {
        "blend (Python)": Blend(),
        "the same weights in PyTorch": extra("stap.reference.session").load(shipped())(),
    }
    for name, peer in peers.items():
        for event in history[: EVENTS // 2]:
            peer.observe(event)
        median = np.median(Timed(peer, history[EVENTS // 2 :][:PEER_EVENTS]).wall)
        figures.append(Figure(f"{name}, p50", float(median), "ms"))
        figures.append(Figure(f"{name} / engine", float(median / p50), "times"))
    figures += _heavy(model)
    return publish(f"the shipped model, {len(history):,} events of a synthetic person, one thread", figures)


def _heavy(model: EngineModel) -> list[Figure]:
    """Somebody with far more apps and a far longer past, who hardly repeats anything: the last events of it."""
    history, predictor = events(HEAVY_EVENTS, HEAVY_APPS), model.predictor()
    for event in history[:-PEER_EVENTS]:
        predictor.observe(event)
    another = model.restore(predictor.snapshot())
    memory = model.weight_bytes / 1e6 + megabytes(predictor)
    p50, p99 = np.percentile(Timed(predictor, history[-PEER_EVENTS:]).wall, [50, 99])
    who = f"{HEAVY_APPS} apps, {HEAVY_EVENTS:,} events at random"
    return [
        Figure(f"{who}, p50", p50, "ms"),
        Figure.at_most(f"{who}, p99", p99, "ms", MOST_MS),
        *_asked(another, history[-PEER_EVENTS:], f"{who}, asked ten times after an event"),
        Figure.at_most(f"{who}, weights, caches, evidence", memory, "MB", MOST_MB),
    ]


def _asked(predictor: EnginePredictor, events: list[Event], who: str) -> list[Figure]:
    """One question of a launch, at one of ten moments after the same event; the first of them has its work to do."""
    took = []
    for event in events:
        predictor.observe(event)
        for wait in WAITS.tolist():
            minutes = event.minutes + wait
            began = perf_counter()
            predictor.rank(5, Moment(minutes, minutes % DAY / 60.0))
            took.append(1e3 * (perf_counter() - began))
    p50, p99 = np.percentile(took, [50, 99])
    return [Figure(f"{who}, p50", p50, "ms"), Figure.at_most(f"{who}, p99", p99, "ms", MOST_MS)]
