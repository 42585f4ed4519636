"""The predictors by name. Each call makes a fresh one: one person, one predictor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stap.errors import BadInput, extra
from stap.predictors.base import Event, Predictor, Ranking
from stap.predictors.blend import Blend
from stap.predictors.markov import Markov
from stap.predictors.mfu import MostFrequent
from stap.predictors.mru import MostRecent, Previous
from stap.predictors.ppm import Ppm

__all__ = ["CLASSICAL", "Event", "Predictor", "Ranking", "load_maker", "make"]

CLASSICAL: dict[str, Callable[[], Predictor]] = {
    "mfu": MostFrequent,
    "mru": MostRecent,
    "previous": Previous,
    "markov": Markov,
    "ppm": Ppm,
    "blend": Blend,
}


def make(name: str) -> Predictor:
    """A fresh predictor for one person."""
    if name not in CLASSICAL:
        raise BadInput("predictors", f"no predictor {name!r}", f"known are {', '.join(CLASSICAL)}, stap")
    return CLASSICAL[name]()


def load_maker(path: Path, protocol: str = "stream") -> Callable[[], Predictor]:
    """STAP with the model in a file: a fresh predictor at every call, one copy of the weights.

    Event by event it runs on the native engine. The paper's whole windows go through torch, many at a time, unless the
    model has evidence: that is kept event by event.
    """
    from stap.predictors.engine import EngineModel

    model = EngineModel(path)
    if protocol == "stream" or model.evidence:
        return model.predictor
    maker: Callable[[], Predictor] = extra("stap.predictors.stap").load(path)
    return maker
