"""An LSApp-sized TSV of invented people: the original cannot be shipped, its shape can."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

ROWS, USERS, APPS = 3_658_589, 292, 87  # as published


def write(path: Path, rows: int = ROWS, seed: int = 0) -> None:
    """user_id, session_id, timestamp, app_name, event_type: runs of about six rows an app, as in the original."""
    rng = np.random.default_rng(seed)
    user = np.sort(rng.integers(0, USERS, rows))
    run = np.cumsum(rng.random(rows) < 1 / 6)
    popularity = 1 / np.arange(1, APPS + 1)
    app = rng.choice(APPS, run[-1] + 1, p=popularity / popularity.sum())[run]
    kind = np.where(np.diff(run, prepend=-1) != 0, 0, rng.choice([1, 2, 2, 2, 3], rows))
    seconds = np.cumsum(rng.choice([1, 2, 5, 30, 600], rows, p=[0.5, 0.25, 0.15, 0.08, 0.02]))
    frame = pl.DataFrame({"user_id": user, "session_id": run // 8, "seconds": seconds, "app": app, "kind": kind})
    kinds = pl.Series(["Opened", "Closed", "User Interaction", "Broken"])
    frame.select(
        "user_id",
        "session_id",
        pl.from_epoch(pl.lit(1_500_000_000) + pl.col("seconds")).dt.strftime("%Y-%m-%d %H:%M:%S").alias("timestamp"),
        pl.format("Application {}", "app").alias("app_name"),
        kinds.gather(frame["kind"]).alias("event_type"),
    ).write_csv(path, separator="\t")
