"""What several benches measure with: people of whom only the numbers matter, a stopwatch, a process of its own."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter, thread_time

import numpy as np

from stap.engine import EnginePredictor
from stap.events import Corpus, Event, Longs
from stap.predictors.base import Predictor
from stap.prior.person import power_law


def events(count: int, apps: int = 150) -> list[Event]:
    """One person who opens and closes apps at random, the popular ones more often."""
    rng = np.random.default_rng(0)
    minutes = 29e6 + np.cumsum(rng.exponential(3.0, count))
    app = np.repeat(rng.choice(apps, -(-count // 2), p=power_law(apps, 1.0)), 2)[:count]
    columns = (app.tolist(), minutes.tolist())
    return [Event(f"app {a}", 1 - n % 2, m, m / 60 % 24) for n, (a, m) in enumerate(zip(*columns, strict=True))]


def corpus(sizes: Longs, apps: int) -> Corpus:
    """People with so many usages each."""
    rng = np.random.default_rng(1)
    start = 2.7e7 + np.cumsum(rng.exponential(20, int(sizes.sum())))
    return Corpus(
        users=tuple(f"u{n}" for n in range(len(sizes))),
        apps=(tuple(f"app {n}" for n in range(apps)),) * len(sizes),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        app=rng.integers(0, apps, len(start)).astype(np.int32),
        start=start,
        end=start + 1,
    )


class Timed:
    """Events through a predictor: milliseconds of each observe + rank(5), CPU time of this thread and the clock's.

    With `help_every`, an engine gets time for its passive cache after every so many events; `idle` is what that took
    an event.
    """

    def __init__(self, predictor: Predictor, events: list[Event], help_every: int = 0) -> None:
        cpu, wall, idle = [], [], 0.0
        for step, event in enumerate(events, 1):
            begin, began = thread_time(), perf_counter()
            predictor.observe(event)
            predictor.rank(5)
            cpu.append(thread_time() - begin)
            wall.append(perf_counter() - began)
            if help_every and step % help_every == 0 and isinstance(predictor, EnginePredictor):
                begin = thread_time()
                predictor.catch_up(2 * help_every)
                idle += thread_time() - begin
        self.cpu, self.wall = 1e3 * np.array(cpu), 1e3 * np.array(wall)
        self.idle = 1e3 * idle / len(events)


def megabytes(predictor: EnginePredictor) -> float:
    """What a session holds, its model's weights aside."""
    info = predictor.info()
    return float(info["cache_bytes"] + info["other_bytes"]) / 1e6


def alone(setup: str, work: str, *arguments: str) -> tuple[float, float, float]:
    """(seconds of some work, peak MB, MB it grew by) in a process of its own; the setup is not timed."""
    program = f"""
import sys, time
from pathlib import Path
{setup}
def megabytes(name):
    return int(Path("/proc/self/status").read_text().partition(name + ":")[2].split()[0]) * 1.024e-3
before, begin = megabytes("VmRSS"), time.perf_counter()
{work}
print(time.perf_counter() - begin, megabytes("VmHWM"), megabytes("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    seconds, peak, grown = map(float, done.stdout.split()[-3:])
    return seconds, peak, grown
