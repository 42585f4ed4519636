"""What numbers, strategies and room for apps cost in accuracy: the stream protocol, scored after each close."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

from stap import terminal
from stap.engine import DTYPES, STRATEGIES, Dtype, EngineModel, Settings
from stap.evaluate import report, stream
from stap.events import Corpus
from stap.registry import Stap
from stap.terminal import Tick
from stap.verdict import Figure, publish
from stap.weights import model_file

LIMITS = (100, 50, 25)  # virtual indices, instead of all
ALLOWED = {"fp16 weights, fp16 cache": 0.1, "int8 weights, int8 cache": 0.3}  # points of HR@1 that may be lost


def run(corpus: Corpus, model: Path | None = None) -> dict[str, Any]:
    path = model_file(model)
    cases: dict[str, tuple[Any, Settings]] = {f"{d} weights, {d} cache": (d, Settings(cache=d)) for d in DTYPES}  # type: ignore[arg-type]
    cases |= {f"int8, {s}": ("int8", Settings(strategy=s)) for s in STRATEGIES[1:]}  # type: ignore[arg-type]
    cases |= {f"int8, {limit} indices": ("int8", Settings(app_limit=limit)) for limit in LIMITS}
    results: dict[str, Any] = {}
    rows: list[Figure] = []
    with terminal.progress("streaming", len(cases) * len(corpus.app)) as tick:
        for name, (weights, settings) in cases.items():
            pooled, cost = score(corpus, path, weights, settings, tick)
            results[name] = pooled | {"ms": cost}
            rows += [Figure(f"{name}: {key}", pooled[key], "%") for key in ("HR@1", "HR@3", "HR@5")]
            rows.append(Figure(f"{name}: CPU", cost, "ms a ranking"))
            if most := ALLOWED.get(name):
                loss = results["fp32 weights, fp32 cache"]["HR@1"] - pooled["HR@1"]
                rows.append(Figure.at_most(f"{name}: lost", loss, "points", most))
    return publish("accuracy of the engine", rows) | {"cases": results}


def score(corpus: Corpus, path: Path, weights: Dtype, settings: Settings, tick: Tick) -> tuple[dict[str, float], float]:
    """Pooled figures, and milliseconds of CPU time a ranking."""
    model = Stap(EngineModel(path, weights), settings=settings)
    begin = process_time()
    ranks = stream(corpus, model, tick)
    pooled: dict[str, float] = report(ranks, "stream")["pooled"]
    return pooled, 1e3 * (process_time() - begin) / len(ranks.rank)
