"""Invented people with habits that a small model learns in a minute."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl

from stap.events import Corpus, from_table
from stap.usage import TIME, merge, save


def table(users: int = 8, usages: int = 60, apps: int = 6, seed: int = 0) -> pl.DataFrame:
    """Each person walks a circle of own apps, and now and then jumps."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        circle = [f"app {user} {n}" for n in rng.permutation(apps)]
        place, minutes = 0, float(rng.uniform(0, 1e4))
        for _ in range(usages + 5 * user):
            place = (place + (1 if rng.random() < 0.9 else int(rng.integers(1, apps)))) % apps
            begin = dt.datetime(2024, 1, 1) + dt.timedelta(minutes=minutes)
            rows.append((f"u{user}", circle[place], begin, begin + dt.timedelta(minutes=1)))
            minutes += float(rng.uniform(2, 90))
    schema = {"user": pl.String(), "app": pl.String(), "start": TIME, "end": TIME}
    return merge(pl.DataFrame(rows, schema=schema, orient="row"))


def corpus(users: int = 8, usages: int = 60, apps: int = 6, seed: int = 0) -> Corpus:
    return from_table(table(users, usages, apps, seed))


def log_file(folder: Path, users: int = 8, usages: int = 60) -> Path:
    path = folder / "people.parquet"
    save(table(users, usages), path)
    return path
