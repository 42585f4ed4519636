"""gbdt: gradient-boosted trees over the engine's evidence, the strongest rival of the model. Needs the extra `train`.

Every candidate gets a score from what the evidence says of it and of the moment; `stap rival` trains the trees. The
ranking ends with the COMPARED likeliest by the blend: an app beyond them is next too seldom to matter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from stap import _engine
from stap.errors import BadInput
from stap.events import Event, Moment, Ranking
from stap.evidence import COMPARED, MOMENT, STATISTICS
from stap.files import read_bytes
from stap.predictors.trees import rewrite

FEATURES = tuple(
    name.replace(" ", "_") for name in (*STATISTICS, "recency", *(f"moment {name}" for name in MOMENT))
)  # a name with a blank would be two in LightGBM's file
LARGEST = 64 << 20  # bytes of a file; 300 trees take 1.5 MB
_REMEDY = "use a file that `stap rival` wrote"


def features(
    statistics: NDArray[np.floating], rank: NDArray[np.integer], moment: NDArray[np.floating]
) -> NDArray[np.float32]:
    """(..., K, F) statistics, (..., K) ranks of recency, (..., C) moment -> (..., K, FEATURES)"""
    wide = np.broadcast_to(moment[..., None, :], (*rank.shape, moment.shape[-1]))
    recency = np.minimum(rank, 255)[..., None]  # as far as a table counts it
    return np.concatenate([statistics, recency, wide], axis=-1, dtype=np.float32)


def load(path: Path) -> Callable[[], Gbdt]:
    """The ranker in a file: a fresh predictor at every call, one copy of the trees."""
    raw = read_bytes(path, LARGEST)
    try:
        model = rewrite(raw.decode("ascii"), FEATURES)
        trees = lightgbm.Booster(model_str=model)
    except (ValueError, lightgbm.basic.LightGBMError) as error:
        why = "no text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise BadInput(str(path), f"no ranker: {why}", _REMEDY) from None
    return lambda: Gbdt(trees)


class Gbdt:
    """One person's evidence, and the trees that everybody shares."""

    def __init__(self, trees: Any) -> None:
        self._trees = trees
        self._evidence = _engine.Evidence()

    def observe(self, event: Event) -> None:
        self._evidence.observe(event.app, event.action, event.minutes, event.hour)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        evidence = self._evidence
        names, statistics, rank, moment = evidence.now(COMPARED) if at is None else evidence.at(COMPARED, *at)
        if not names or k < 1:
            return []
        rows = features(statistics, rank, moment)
        # One thread: to start more costs twenty times what so few rows need.
        score = self._trees.predict(rows, raw_score=True, num_threads=1, validate_features=False)
        weight = np.exp(score - score.max())
        probability = (weight / weight.sum()).tolist()
        order = np.argsort(-score, kind="stable")[:k]  # among equals the blend's order stays
        return [(names[i], probability[i]) for i in order.tolist()]
