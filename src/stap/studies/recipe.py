"""How large a study's model is and how long it trains, by scale: the paper's own, or the pure one at a small size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from stap.studies.experiment import Experiment, Scale
from stap.studies.populations import NamedPeople
from stap.train.config import TrainConfig
from stap.train.presets import PRESETS


@dataclass(frozen=True)
class Recipe:
    base: TrainConfig
    events: int = 0  # that a run sees: few people come up more often; 0: the base's own epochs
    usages: int | None = None  # of each person at most

    @classmethod
    def of(cls, scale: Scale) -> Self:
        return cls(*RECIPES[scale])

    def settings(self, people: NamedPeople, seed: int, context: int | None = None) -> TrainConfig:
        """For these people; at another context than usual a batch holds as many events as ever."""
        base = self.base
        epochs = max(2, round(self.events / (2 * len(people.read(self.usages).app)))) if self.events else base.epochs
        model = replace(base.model, context=context or base.model.context)
        first = max(1, epochs // 4)
        shorter = tuple((length, first) for length, _ in base.curriculum if length < model.context)
        tokens = max(base.tokens_per_batch, model.context)
        return replace(
            base,
            seed=seed,
            model=model,
            curriculum=shorter,
            epochs=epochs,
            validate_every=first,
            tokens_per_batch=tokens,
        )


@dataclass(frozen=True)
class Trains(Experiment):
    """An experiment that trains by the recipe of its scale, with some seeds."""

    people: tuple[NamedPeople, ...]
    SEEDS: ClassVar[dict[Scale, int]]

    @property
    def recipe(self) -> Recipe:
        return Recipe.of(self.scale)

    @property
    def seeds(self) -> range:
        return range(self.SEEDS[self.scale])

    def about(self) -> dict[str, Any]:
        return {"data": {each.name: each.about() for each in self.people}, "seeds": list(self.seeds)}


# Its switches, for the paper's task on the people there are.
PURE = replace(PRESETS["pure"], task="paper", average=0.0, among_seen=False)
RECIPES: dict[Scale, tuple[TrainConfig, int, int | None]] = {
    "paper": (PRESETS["paper"], 0, None),
    "here": (
        replace(
            PURE,
            model=replace(PURE.model, context=512, dim=96, layers=2, heads=2, hidden=192, ordinal_heads=1),
            curriculum=((128, 1),),
            tokens_per_batch=2_048,
            muon=2.0,
        ),
        300_000,
        None,
    ),
    "toy": (
        replace(
            PURE,
            model=replace(
                PURE.model, vocabulary=120, context=64, dim=16, layers=1, heads=2, hidden=16, ordinal_heads=1
            ),
            curriculum=(),
            tokens_per_batch=1024,
            warmup_steps=2,
        ),
        4_000,
        100,
    ),
}
