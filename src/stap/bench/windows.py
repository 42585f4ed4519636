"""`stap bench windows`: encode windows (draw and apply phi, build events and labels), beside a copy of the result."""

from __future__ import annotations

from dataclasses import astuple
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from stap.bench.invented import corpus
from stap.phi import draw
from stap.verdict import Figure, publish
from stap.windows import VOCABULARY, cut, encode

USERS, USAGES, APPS, ROUNDS = 64, 8192, 120, 5


def run() -> dict[str, Any]:
    people, figures = corpus(np.full(USERS, USAGES), APPS), []
    for context in (16, 512, 4096):
        windows = cut(people, context)
        which = np.arange(len(windows))
        batches = np.array_split(which, max(1, len(which) * context // 2**16))
        encoding, copying = [], []
        for epoch in range(ROUNDS):
            begin = process_time()
            made = [encode(people, windows, batch, draw(0, epoch, batch, VOCABULARY)) for batch in batches]
            encoding.append(process_time() - begin)
            begin = process_time()
            for batch in made:
                _ = [array.copy() for array in astuple(batch)]
            copying.append(process_time() - begin)
        rate = 2 * len(people.app) / median(encoding)
        figures.append(Figure.at_least(f"L = {context}", rate, "events/s on one core", 1_000_000))
        figures.append(Figure(f"L = {context}, beside a copy of the result", median(encoding) / median(copying), "x"))
    return publish("encode windows", figures)
