"""`stap bench windows`: encode windows (draw and apply phi, build events and labels), beside a copy of the result."""

from __future__ import annotations

from dataclasses import astuple
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from stap.events import Corpus
from stap.phi import draw
from stap.verdict import Figure, publish
from stap.windows import VOCABULARY, cut, encode

USERS, USAGES, APPS, ROUNDS = 64, 8192, 120, 5


def corpus(seed: int = 0) -> Corpus:
    """People with many usages each; what they open does not matter here."""
    rng = np.random.default_rng(seed)
    usages = USERS * USAGES
    edges = np.cumsum(rng.exponential(3.0, (USERS, 2 * USAGES)), axis=1).reshape(usages, 2)
    return Corpus(
        users=tuple(f"user {number}" for number in range(USERS)),
        apps=tuple(tuple(f"app {number}" for number in range(APPS)) for _ in range(USERS)),
        offsets=np.arange(USERS + 1) * USAGES,
        app=rng.integers(0, APPS, usages).astype(np.int32),
        start=edges[:, 0],
        end=edges[:, 1],
    )


def run() -> dict[str, Any]:
    people, figures = corpus(), []
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
        held = rate >= 1e6
        figures.append(Figure(f"L = {context}", rate, "events/s on one core", "at least 1,000,000", held))
        figures.append(Figure(f"L = {context}, beside a copy of the result", median(encoding) / median(copying), "x"))
    return publish("encode windows", figures)
