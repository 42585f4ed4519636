"""`stap bench fleet`: many people through `stap evaluate`. Is memory flat, and do two processes do twice as much?

The peer of ten thousand people is a tenth of them, that of two processes is one. The people are the prior's, with short
logs. What processes wait for a processor that others have is not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import polars as pl

from stap import prior
from stap.bench.invented import alone
from stap.events import Usages
from stap.jobs import Hands, each
from stap.usage import SCHEMA, TIME, save
from stap.verdict import Figure, publish

PEOPLE, FEW = 10_000, 1_000
USAGES = (24, 54)
GROWTH = 30.0  # MB more for ten times the people
AT_ONCE = (
    "from stap import sources\nfrom stap.events import from_table",
    "from_table(sources.read(sys.argv[1:]).table)",
)


class Took(NamedTuple):
    seconds: float
    free: float  # seconds it would have taken had a processor been free whenever one was wanted
    processor: float  # seconds of it, of all processes together
    peak: float  # MB, of the largest process
    scores: str


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        fleet, few = Path(folder, "fleet.parquet"), Path(folder, "few.parquet")
        table = people(PEOPLE)
        save(table, fleet)
        save(table.filter(pl.col("user") < _name(FEW)), few)
        usages = len(table)
        del table
        one, ten, two = _evaluate(few, "markov", 1), _evaluate(fleet, "markov", 1), _evaluate(fleet, "markov", 2)
        stap_one, stap_two = _evaluate(fleet, "stap", 1), _evaluate(fleet, "stap", 2)
        at_once = alone(*AT_ONCE, str(fleet))[1] - alone(*AT_ONCE, str(few))[1]
    same = (ten.scores == two.scores) and (stap_one.scores == stap_two.scores)
    return publish(
        f"stap evaluate on {PEOPLE:,} people, {usages:,} usages, {os.cpu_count()} processors",
        [
            Figure(f"peak memory, {FEW:,} people", one.peak, "MB"),
            Figure(f"peak memory, {PEOPLE:,} people", ten.peak, "MB"),
            Figure.at_most("more for ten times the people", ten.peak - one.peak, "MB", GROWTH),
            Figure("more, where the log is read at once", at_once, "MB"),
            Figure("markov, one process", usages / ten.free, "usages/s"),
            Figure("markov, two processes", usages / two.free, "usages/s"),
            Figure("stap, one process", usages / stap_one.free, "usages/s"),
            Figure("stap, two processes", usages / stap_two.free, "usages/s"),
            Figure.at_least("markov, per core of one's", ten.free / two.free / 2, "times", 0.9),
            Figure.at_least("stap, per core of one's", stap_one.free / stap_two.free / 2, "times", 0.9),
            Figure("share of the time without a processor", 1 - two.free / two.seconds, "of 1"),
            Figure.at_least("two give what one gives, to the last bit", float(same), "yes", 1),
        ],
    )


def people(count: int) -> pl.DataFrame:
    """A usage table of the prior's people, in order."""
    hands = Hands(os.cpu_count() or 1)
    drawn = dict(each((partial(_some, low, min(low + 250, count)) for low in range(0, count, 250)), hands))
    return pl.concat([drawn[number] for number in range(len(drawn))])


def _some(low: int, high: int) -> pl.DataFrame:
    return pl.concat([_table(_name(index), prior.draw_log(7, index, USAGES)) for index in range(low, high)])


def _name(index: int) -> str:
    return f"person {index:08}"


def _table(user: str, usages: Usages) -> pl.DataFrame:
    columns = {"app": [f"app {code}" for code in usages.app.tolist()], "start": usages.start, "end": usages.end}
    times = [(pl.col(name) * 60e6).round().cast(pl.Int64).cast(TIME) for name in ("start", "end")]
    return pl.DataFrame(columns).with_columns(pl.lit(user).alias("user"), *times).select(list(SCHEMA))


def _evaluate(log: Path, predictor: str, jobs: int) -> Took:
    """The command in a process of its own."""
    scores = log.with_suffix(".json")
    options = ["--predictors", predictor, "--jobs", str(jobs), "--json", str(scores)]
    begin = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "stap", "evaluate", str(log), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    waited: dict[str, float] = {}
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        waited |= _waited(process.pid)
        sleep(0.1)
    seconds = perf_counter() - begin
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"stap evaluate ended with {process.returncode}")
    own = waited.pop(str(process.pid), 0.0)
    workers = sorted(waited.values())[-jobs:] if jobs > 1 else []
    told = json.loads(scores.read_text())
    del told["provenance"]  # it says when, and by how many
    free = seconds - own - sum(workers) / jobs
    return Took(seconds, free, used.ru_utime + used.ru_stime, used.ru_maxrss * 1.024e-3, json.dumps(told))


def _waited(parent: int) -> dict[str, float]:
    """Seconds that a process and its children wanted a processor and had none."""
    found = {}
    with suppress(OSError):
        for process in [str(parent), *Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]:
            found[process] = int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    return found
