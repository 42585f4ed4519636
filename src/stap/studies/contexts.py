"""What numbers, strategies and room for apps cost in accuracy, on a log and with a model of one's own:

python -m stap.studies.contexts LOG MODEL [USER,USER,...]      (stream protocol, scored after each close)
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from stap import usage
from stap.bench.verdict import Figure, publish
from stap.engine import DTYPES, STRATEGIES, Dtype, EngineModel, Settings
from stap.evaluate import report, stream
from stap.events import Corpus, merged
from stap.sources import read

LIMITS = (200, 100, 50, 25)  # virtual indices


def score(corpus: Corpus, path: Path, weights: Dtype, settings: Settings) -> tuple[dict[str, float], float]:
    """Pooled figures, and milliseconds of CPU time a ranking."""
    model = EngineModel(path, weights)
    begin = process_time()
    ranks = stream(corpus, partial(model.predictor, settings))
    pooled: dict[str, float] = report(ranks, "stream")["pooled"]
    return pooled, 1e3 * (process_time() - begin) / len(ranks.rank)


def compare(corpus: Corpus, path: Path) -> dict[str, Any]:
    cases: dict[str, tuple[Any, Settings]] = {f"{d} weights, {d} cache": (d, Settings(cache=d)) for d in DTYPES}  # type: ignore[arg-type]
    cases |= {f"int8, {s}": ("int8", Settings(strategy=s)) for s in STRATEGIES[1:]}  # type: ignore[arg-type]
    cases |= {f"int8, {limit} indices": ("int8", Settings(app_limit=limit)) for limit in LIMITS[1:]}
    found: dict[str, Any] = {}
    rows: list[Figure] = []
    allowed = {"fp16 weights, fp16 cache": 0.1, "int8 weights, int8 cache": 0.3}
    for name, (weights, settings) in cases.items():
        pooled, cost = score(corpus, path, weights, settings)
        found[name] = pooled | {"ms": cost}
        rows += [Figure(f"{name}: {key}", pooled[key], "%") for key in ("HR@1", "HR@3", "HR@5")]
        rows.append(Figure(f"{name}: CPU", cost, "ms a ranking"))
        if name in allowed:
            loss = found["fp32 weights, fp32 cache"]["HR@1"] - pooled["HR@1"]
            rows.append(Figure(f"{name}: lost", loss, "points", f"at most {allowed[name]}", loss <= allowed[name]))
    return publish("accuracy of the engine", rows) | {"cases": found}


def main(log: str, model: str, users: str | None = None) -> dict[str, Any]:
    table = read([log]).table
    return compare(merged(table if users is None else usage.only_users(table, users.split(","), log)), Path(model))


if __name__ == "__main__":
    main(*sys.argv[1:])
