"""Train gbdt's trees: LightGBM on the same evidence, the same context and the same people as the model.

A row is a candidate at a position, its label whether it came next. Positions whose answer is no candidate say nothing
of the order among candidates and are left out, as is what a heavy user has beyond POSITIONS: people shall count alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from stap.errors import BadInput
from stap.events import Bools, Corpus, Usages
from stap.evidence import COMPARED
from stap.files import replacing
from stap.predictors.gbdt import FEATURES, features
from stap.terminal import Tick, quiet
from stap.train.tasks.tables import Random, tabulate

POSITIONS = 2500  # of a user
TREES = 300
SETTINGS: dict[str, Any] = {
    "objective": "binary",
    "num_leaves": 31,
    "learning_rate": 0.05,
    "min_data_in_leaf": 300,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "lambda_l2": 10.0,
    "max_bin": 127,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,  # otherwise a stopwatch decides, and with it the last bits
    "verbosity": -1,
}


def train(
    corpus: Corpus, out: Path, seed: int = 0, trees: int = TREES, tick: Tick = quiet, view: Corpus | None = None
) -> None:
    """Write the ranker of these people as LightGBM's text; `tick` hears of every tree.

    `view`: the same users as another logger saw them; of who is in it, both logs count.
    """
    logs = corpus.everybody()
    if view:
        logs += [log for user, log in zip(view.users, view.everybody(), strict=True) if user in corpus.users]
    with replacing(out) as draft:  # first of all: a place that cannot be written to is heard of before the work
        tables = [rows(log, np.random.default_rng([seed, user])) for user, log in enumerate(logs)]
        matrices = [matrix for matrix, _ in tables if len(matrix)]
        if not matrices:
            raise BadInput("log", "nothing to train on: no user comes back to an app", "use a longer log")
        label = np.concatenate([came for _, came in tables]).astype(np.float32)
        settings = SETTINGS | {"seed": seed}
        data = lightgbm.Dataset(matrices, label, feature_name=list(FEATURES), params=settings)
        booster = lightgbm.train(settings, data, trees, callbacks=[lambda _: tick(1)])
        draft.write_text(booster.model_to_string())  # it would not say when a disk is full


def rows(usages: Usages, rng: Random) -> tuple[NDArray[np.float32], Bools]:
    """(rows, FEATURES) of one person, position by position, and (rows,) whether the candidate came next."""
    table = tabulate(usages, rng, candidates=COMPARED)
    answered = np.flatnonzero((table.answer >= 0) & (table.answer < COMPARED))
    chosen = np.sort(rng.permutation(answered)[:POSITIONS])
    every = features(table.statistics[chosen], table.rank[chosen], table.asked[chosen])  # (positions, K, FEATURES)
    present = table.candidate[chosen] >= 0
    came = np.arange(COMPARED) == table.answer[chosen, None]
    return every[present], came[present]
