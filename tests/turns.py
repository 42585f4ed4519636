"""Two builds of the engine in turn, so that a busy machine troubles both alike: CPU time of observe + rank.

    python tests/turns.py old/.venv/bin/python new/.venv/bin/python MODEL [ROUNDS] [EVENTS]

Each interpreter has its own build. A round is so many events of an invented person in each, in random order; what is
reported is the median over rounds of new / old, with a 95 % interval from a bootstrap over rounds.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from time import thread_time

import numpy as np

from stap.bench.invented import events
from stap.engine import EngineModel

BEHIND = 6100  # events before the first round: at the paper's sizes both caches are in use
WARM = 2  # events of a round that are not counted: another process has just had the processor's caches


def work(model: str) -> None:
    """For every number that is asked: so many events more, and the mean milliseconds of one."""
    person, predictor = events(200_000), EngineModel(model).predictor()
    at = BEHIND
    for event in person[:at]:
        predictor.observe(event)
    predictor.rank(5)
    predictor.catch_up(at)
    for line in sys.stdin:
        took = []
        for event in person[at : at + int(line)]:
            began = thread_time()
            predictor.observe(event)
            predictor.rank(5)
            took.append(1e3 * (thread_time() - began))
        at += int(line)
        predictor.catch_up(4 * int(line))
        print(json.dumps(float(np.mean(took[WARM:]))), flush=True)


def compare(old: str, new: str, model: str, rounds: int = 400, count: int = 60) -> None:
    pipes = [
        subprocess.Popen([each, __file__, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for each in (old, new)
    ]
    times = np.zeros((rounds + 1, 2))
    load = os.getloadavg()[0]
    for row in times:
        for n in random.sample((0, 1), 2):
            source, sink = pipes[n].stdout, pipes[n].stdin
            assert source is not None
            assert sink is not None
            sink.write(f"{count}\n")
            sink.flush()
            row[n] = float(source.readline())
    ratio = (times[:, 1] / times[:, 0])[1:]  # (the first round waited for the past)
    rng = np.random.default_rng(0)
    low, high = np.percentile([np.median(rng.choice(ratio, rounds)) for _ in range(2000)], [2.5, 97.5])
    print(f"old {np.median(times[1:, 0]):.4f} ms, new {np.median(times[1:, 1]):.4f} ms an event")
    print(f"new / old {np.median(ratio):.3f} ({low:.3f} to {high:.3f}), load {load:.1f} to {os.getloadavg()[0]:.1f}")
    for pipe in pipes:
        pipe.communicate()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        work(sys.argv[1])
    else:
        old, new, model, *sizes = sys.argv[1:]
        compare(old, new, model, *map(int, sizes))
