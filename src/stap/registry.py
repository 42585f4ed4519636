"""One answer to "make me the predictor called X": classical ones, launchers' rules, `stap`, rivals, your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stap.engine import EngineModel, EnginePredictor, Settings
from stap.errors import BadInput, extra
from stap.events import Moment, Ranking
from stap.phi import seed_of
from stap.predictors import CLASSICAL, Predictor, make, own
from stap.predictors.base import Maker
from stap.predictors.rules import RULES
from stap.rivals.config import KINDS as RIVALS
from stap.weights import model_file

PARTS = ("stap-model", "stap-others")  # STAP without its last word; without "again"
NAMES = (*CLASSICAL, *RULES, "stap", *PARTS, "gbdt", *RIVALS)
_OTHERS = (*(name for name in CLASSICAL if name != "again"), "stap")  # where the same app is never the next
USUAL = {  # who is in a table when nobody is named, by protocol
    "launch": ("mfu", "again", "markov", "ppm", "blend", *RULES, "stap"),
    "stream": _OTHERS,
    "paper": _OTHERS,
}


@dataclass(frozen=True)
class Stap:
    """STAP on the engine, one copy of the weights for everybody; phi is drawn from the user and the seed."""

    model: EngineModel
    seed: int = 0
    settings: Settings = field(default_factory=Settings)

    @property
    def sizes(self) -> tuple[int, int]:
        return self.model.vocabulary, self.model.context

    def __call__(self) -> EnginePredictor:
        return self.of("")

    def of(self, user: str) -> EnginePredictor:
        return self.model.predictor(replace(self.settings, seed=seed_of(user, self.seed)))


class NeverAgain:
    """Asked at a moment, it ranks other apps than the current one all the same."""

    def __init__(self, predictor: Predictor) -> None:
        self.observe, self._rank = predictor.observe, predictor.rank

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        return self._rank(k)


@dataclass(frozen=True)
class Others:
    """STAP that cannot say "again"."""

    stap: Stap

    def __call__(self) -> NeverAgain:
        return self.of("")

    def of(self, user: str) -> NeverAgain:
        return NeverAgain(self.stap.of(user))


def maker(
    name: str, model: Path | None = None, ranker: Path | None = None, protocol: str = "stream", seed: int = 0
) -> Maker:
    """What makes predictors called `name`; files are read, and found wanting, here and now.

    Event by event STAP runs on the native engine. The paper's whole windows go through torch, many at a time, unless
    the model has evidence: that is kept event by event.
    """
    if ":" in name:
        return own.load(name)
    if name == "gbdt":
        if ranker is None:
            raise BadInput("predictors", "gbdt predicts with the trees of `stap rival`", "give them with --ranker FILE")
        trees: Maker = extra("stap.predictors.gbdt").load(ranker)
        return trees
    if name in RIVALS:
        if model is None:
            remedy = f"train one with `stap train --preset {name}`, and give its run with --model"
            raise BadInput("predictors", f"{name} has to be trained, and none ships", remedy)
        rival: Maker = extra("stap.rivals.predictor").maker(_own(model, name), name, protocol)
        return rival
    if name not in ("stap", *PARTS):
        if name in RULES:
            return RULES[name]
        make(name)  # an unknown name is better heard of before a minute of work
        return CLASSICAL[name]
    path = _own(model, "stap")
    loaded = EngineModel(path)
    if name == "stap-others":
        return Others(Stap(loaded, seed))
    if name == "stap-model":
        return Stap(loaded, seed, Settings(last_word=False))
    if protocol != "paper" or loaded.evidence:
        return Stap(loaded, seed)
    windows: Maker = extra("stap.reference.session").load(path, seed)
    return windows


def rivals(names: Sequence[str], model: Path | None) -> dict[str, Path]:
    """The files of those among them that are rivals."""
    return {name: _own(model, name) for name in names if name in RIVALS}


def _own(model: Path | None, name: str) -> Path:
    """The model's file; of a folder of runs by predictor, the one of this name."""
    return model_file(model / name if model and (model / name).is_dir() else model)
