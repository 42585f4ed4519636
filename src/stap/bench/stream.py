"""`stap bench stream`: the stream protocol (two events, two rankings a usage), each predictor and all together."""

from __future__ import annotations

from time import process_time
from typing import Any

from stap.demo.person import LOG
from stap.evaluate import stream
from stap.events import Corpus, merged
from stap.predictors import CLASSICAL
from stap.sources import read
from stap.verdict import Figure, publish

SIMPLE = ("mfu", "mru", "previous")
BOUNDS = dict.fromkeys(SIMPLE, 20_000) | {"ppm": 2_000}


def _rate(corpus: Corpus, name: str) -> float:
    begin = process_time()
    stream(corpus, CLASSICAL[name])
    return len(corpus.app) / (process_time() - begin)


def run() -> dict[str, Any]:
    corpus, unit = merged(read([LOG]).table), "usages/s on one core"
    rates = {name: max(_rate(corpus, name) for _ in range(3)) for name in CLASSICAL}
    figures = [
        Figure.at_least(name, rate, unit, BOUNDS[name]) if name in BOUNDS else Figure(name, rate, unit)
        for name, rate in rates.items()
    ]
    together = 1 / sum(1 / rates[name] for name in SIMPLE)
    figures.append(Figure.at_least(", ".join(SIMPLE) + " together", together, "usages/s", 20_000))
    figures.append(Figure("all together", 1 / sum(1 / rate for rate in rates.values()), "usages/s"))
    return publish("stream evaluation on the demo log", figures)
