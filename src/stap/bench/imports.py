"""`stap bench import`: read and merge an LSApp-sized TSV, beside a bare polars read of the same file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from stap.bench import lsapp_file
from stap.verdict import Figure, publish

ROUNDS = 5


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lsapp.tsv")
        lsapp_file.write(path)
        size = path.stat().st_size / 1e6
        bare, ours = [], []
        for _ in range(ROUNDS):  # in turn, so that a noisy minute hits both
            bare.append(_alone("pl.read_csv(sys.argv[1], separator='\\t')", str(path)))
            ours.append(_alone("sources.read([sys.argv[1]])", str(path)))
    seconds = [median(times) for times, _ in (zip(*bare, strict=True), zip(*ours, strict=True))]
    ratio = median(mine[0] / theirs[0] for mine, theirs in zip(ours, bare, strict=True))
    peak = max(megabytes for _, megabytes in ours)
    return publish(
        f"import and merge, {lsapp_file.ROWS:,} rows, {size:.0f} MB, median of {ROUNDS}",
        [
            Figure("bare polars read", seconds[0], "s"),
            Figure("stap import", seconds[1], "s"),
            Figure("ratio", ratio, "x", "at most 5 x", ratio <= 5),
            Figure("peak memory", peak, "MB", "under 2,000 MB", peak < 2000),
        ],
    )


def _alone(code: str, *arguments: str) -> tuple[float, float]:
    """(seconds, peak MB) of a snippet in a process of its own; start-up and imports are not counted in the seconds."""
    program = (
        "import resource, sys, time\n"
        "import polars as pl\n"
        "from stap import sources\n"
        "begin = time.perf_counter()\n"
        f"{code}\n"
        "print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)
