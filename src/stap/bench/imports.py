"""`stap bench import`: read and merge an LSApp-sized TSV, beside a bare polars read of the same file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from stap.bench.invented import alone
from stap.verdict import Figure, publish

ROUNDS = 5
ROWS, USERS, APPS = 3_658_589, 292, 87  # as published
IMPORTS = "import polars as pl\nfrom stap import sources"


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lsapp.tsv")
        write_log(path)
        size = path.stat().st_size / 1e6
        bare, ours, peaks = [], [], []
        for _ in range(ROUNDS):  # in turn, so that a noisy minute hits both
            bare.append(alone(IMPORTS, "pl.read_csv(sys.argv[1], separator='\\t')", str(path))[0])
            seconds, peak, _ = alone(IMPORTS, "sources.read([sys.argv[1]])", str(path))
            ours.append(seconds)
            peaks.append(peak)
    ratio = median(mine / its for mine, its in zip(ours, bare, strict=True))
    return publish(
        f"import and merge, {ROWS:,} rows, {size:.0f} MB, median of {ROUNDS}",
        [
            Figure("bare polars read", median(bare), "s"),
            Figure("stap import", median(ours), "s"),
            Figure.at_most("ratio", ratio, "x", 5),
            Figure.at_most("peak memory", max(peaks), "MB", 2000),
        ],
    )


def write_log(path: Path) -> None:
    """A TSV of LSApp's shape, since the original cannot be shipped: runs of about six rows an app, as there."""
    rng = np.random.default_rng(0)
    user = np.sort(rng.integers(0, USERS, ROWS))
    run = np.cumsum(rng.random(ROWS) < 1 / 6)
    popularity = 1 / np.arange(1, APPS + 1)
    app = rng.choice(APPS, run[-1] + 1, p=popularity / popularity.sum())[run]
    kind = np.where(np.diff(run, prepend=-1) != 0, 0, rng.choice([1, 2, 2, 2, 3], ROWS))
    seconds = np.cumsum(rng.choice([1, 2, 5, 30, 600], ROWS, p=[0.5, 0.25, 0.15, 0.08, 0.02]))
    frame = pl.DataFrame({"user_id": user, "session_id": run // 8, "seconds": seconds, "app": app, "kind": kind})
    kinds = pl.Series(["Opened", "Closed", "User Interaction", "Broken"])
    frame.select(
        "user_id",
        "session_id",
        timestamp=pl.from_epoch(1_500_000_000 + pl.col("seconds")).dt.strftime("%Y-%m-%d %H:%M:%S"),
        app_name=pl.format("Application {}", "app"),
        event_type=kinds.gather(frame["kind"]),
    ).write_csv(path, separator="\t")
