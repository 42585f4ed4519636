"""`stap bench shipped`: what a launcher waits for at every event, and what a session of the shipped model holds.

Beside it in the same run, on the same events: the same weights in PyTorch, and `blend`, the best classical predictor.
"""

from __future__ import annotations

import time
from itertools import chain
from typing import Any

import numpy as np

from stap import prior
from stap.engine import EngineModel, EnginePredictor
from stap.errors import extra
from stap.events import Event
from stap.predictors.base import Predictor
from stap.predictors.blend import Blend
from stap.prior.person import power_law
from stap.verdict import Figure, publish
from stap.weights import shipped

EVENTS = 10_000
PEER_EVENTS = 600  # from the middle on, when every context is full
HEAVY_APPS, HEAVY_EVENTS = 500, 100_000  # of a person whose tables are full
BOUND_MS, BOUND_MB = 1.0, 80.0


def run() -> dict[str, Any]:
    corpus = prior.people(1, seed=2, usages=(EVENTS // 2, EVENTS // 2 + 1))
    events = list(chain.from_iterable(corpus.events(0)))[:EVENTS]
    model = EngineModel(shipped())
    predictor = model.predictor()
    took = _time(predictor, events)
    memory = _megabytes(model, predictor)
    p50, p99 = np.percentile(took, [50, 99])
    peers = {
        "blend (Python)": Blend(),
        "the same weights in PyTorch": extra("stap.reference.session").load(shipped())(),
    }
    figures = [
        Figure("observe + rank, p50", p50, "ms"),
        Figure("observe + rank, p99", p99, "ms", f"below {BOUND_MS:g}", bool(p99 < BOUND_MS)),
        Figure("observe + rank, longest", took.max(), "ms"),
        Figure("weights, caches, evidence", memory, "MB", f"at most {BOUND_MB:g}", memory <= BOUND_MB),
        Figure("apps of this person", float(corpus.app_counts[0]), "apps"),
    ]
    for name, peer in peers.items():
        for event in events[: EVENTS // 2]:
            peer.observe(event)
        times = np.percentile(_time(peer, events[EVENTS // 2 : EVENTS // 2 + PEER_EVENTS]), 50)
        figures.append(Figure(f"{name}, p50", times, "ms"))
        figures.append(Figure(f"{name} / engine", times / p50, "times"))
    figures += _heavy(model)
    return publish(f"the shipped model, {len(events):,} events of a synthetic person, one thread", figures)


def _megabytes(model: EngineModel, predictor: EnginePredictor) -> float:
    info = predictor.info()
    return float(model.weight_bytes + info["cache_bytes"] + info["other_bytes"]) / 1e6


def _heavy(model: EngineModel) -> list[Figure]:
    """Somebody with far more apps and a far longer past, who hardly repeats anything: the last events of it."""
    rng = np.random.default_rng(0)
    minutes = np.cumsum(rng.exponential(3.0, HEAVY_EVENTS))
    apps = np.repeat(rng.choice(HEAVY_APPS, HEAVY_EVENTS // 2, p=power_law(HEAVY_APPS, 1.0)), 2)
    events = [
        Event(f"app {app}", 1 - place % 2, when, when / 60 % 24)
        for place, (app, when) in enumerate(zip(apps.tolist(), minutes.tolist(), strict=True))
    ]
    predictor = model.predictor()
    for event in events[:-PEER_EVENTS]:
        predictor.observe(event)
    memory = _megabytes(model, predictor)
    p50, p99 = np.percentile(_time(predictor, events[-PEER_EVENTS:]), [50, 99])
    who = f"{HEAVY_APPS} apps, {HEAVY_EVENTS:,} events at random"
    return [
        Figure(f"{who}, p50", p50, "ms"),
        Figure(f"{who}, p99", p99, "ms", f"below {BOUND_MS:g}", bool(p99 < BOUND_MS)),
        Figure(f"{who}, weights, caches, evidence", memory, "MB", f"at most {BOUND_MB:g}", memory <= BOUND_MB),
    ]


def _time(predictor: Predictor, events: list[Event]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(events,) milliseconds of each observe + rank(5)."""
    took = []
    for event in events:
        begin = time.perf_counter()
        predictor.observe(event)
        predictor.rank(5)
        took.append(1e3 * (time.perf_counter() - begin))
    return np.array(took)
