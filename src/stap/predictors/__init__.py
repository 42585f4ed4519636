"""The classical predictors by name. Each call makes a fresh one: one person, one predictor."""

from __future__ import annotations

from stap.errors import BadInput
from stap.predictors.base import Maker, Predictor
from stap.predictors.blend import Blend
from stap.predictors.markov import Markov
from stap.predictors.mfu import MostFrequent
from stap.predictors.mru import Again, MostRecent, Previous
from stap.predictors.ppm import Ppm

__all__ = ["CLASSICAL", "Predictor", "make"]

CLASSICAL: dict[str, Maker] = {
    "mfu": MostFrequent,
    "mru": MostRecent,
    "previous": Previous,
    "again": Again,
    "markov": Markov,
    "ppm": Ppm,
    "blend": Blend,
}


def make(name: str) -> Predictor:
    """A fresh classical predictor for one person."""
    if name not in CLASSICAL:
        raise BadInput(
            "predictors",
            f"no predictor {name!r}",
            f"known are {', '.join(CLASSICAL)}, stap, gbdt; your own is MODULE:CLASS",
        )
    return CLASSICAL[name]()
