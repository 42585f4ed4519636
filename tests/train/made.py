"""Invented people with habits that a small model learns in a minute."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from stap.events import Corpus, from_table
from stap.model.config import ModelConfig
from stap.train.presets import preset
from stap.usage import TIME, merge, save

_SHIPPED = preset("shipped")
SHIPPED = replace(  # the shipped task in seconds
    _SHIPPED,
    model=ModelConfig(
        vocabulary=64,
        context=64,
        dim=16,
        layers=1,
        heads=2,
        hidden=32,
        query_key_norm=True,
        ordinal_heads=1,
        evidence=16,
        candidate_heads=1,
    ),
    population=replace(_SHIPPED.population, steps=30, prior_steps=10, prior_people=6),
    tokens_per_batch=512,
    tokens_at_once=512,
    warmup_steps=5,
)


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
