"""The recipe of the shipped model as one value: `stap recipe` reruns it, `--without` leaves one of its parts out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from stap.errors import BadInput
from stap.model.config import ModelConfig


@dataclass(frozen=True)
class Recipe:
    """What training depends on besides its data."""

    model: ModelConfig = field(
        default_factory=lambda: ModelConfig(
            context=512,
            dim=64,
            layers=2,
            heads=4,
            hidden=128,
            query_key_norm=True,
            ordinal_heads=2,
            evidence=128,
            candidate_heads=4,
        )
    )
    seed: int = 0  # of folds, weights, people, windows and phi
    fold: str = ""  # "2/5": the second fifth of the users is held out
    always: str = ""  # users, comma-separated, that train in every fold
    start: str = ""  # a model file to go on from
    prior_steps: int = 150  # on people of the prior alone, first
    steps: int = 1300  # in all
    prior_share: float = 0.15  # of the usages, once real people come in
    new_share: float = 0.4  # of the real people's usages are newcomers'
    view_share: float = 0.5  # of the times somebody comes up, it is as another logger saw them, where that is given
    augmented: float = 0.5  # of the real logs change every time they come up
    interrupted: float = 0.4  # of the changed logs have other apps come up in the middle of usages
    instants: float = 0.25  # of the real logs come up without closes: so some loggers and most launchers see a person
    prior_people: int = 120  # drawn anew for every round
    windows_per_step: int = 10
    learning_rate: float = 3e-3
    muon: float = 5.0  # times the learning rate, for the matrices that Muon moves; 0: AdamW moves them too
    warmup_steps: int = 50
    weight_decay: float = 0.02
    muon_decay: float = 0.2  # of Muon's matrices, which would grow and grow otherwise
    clip: float = 1.0
    average: float = 0.99  # of the weights: what is left of the past after a step
    shuffle: bool = True
    transformer: bool = True  # False: the head sees evidence and context only
    real: bool = True
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 <= self.prior_steps <= self.steps:
            raise BadInput(
                "recipe", f"{self.steps} steps, {self.prior_steps} of them on the prior", "give --steps more"
            )

    @property
    def usages(self) -> int:
        """In a window."""
        return self.model.context // 2


def _changes(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """What it takes to leave each part out."""
    return {
        "evidence": {"model": replace(recipe.model, evidence=0, candidate_heads=0)},
        "comparison": {"model": replace(recipe.model, candidate_heads=0)},
        "transformer": {"transformer": False},
        "shuffle": {"shuffle": False},
        "prior": {"prior_steps": 0, "prior_share": 0.0},
        "real": {"prior_steps": recipe.steps, "real": False},
        "context": {"model": replace(recipe.model, context=32), "windows_per_step": 16 * recipe.windows_per_step},
        "augmentation": {"augmented": 0.0},
        "interruptions": {"interrupted": 0.0},
        "instants": {"instants": 0.0},
        "newcomers": {"new_share": 0.0},
        "view": {"view_share": 0.0},
        "muon": {"muon": 0.0},
        "averaging": {"average": 0.0},
    }


PARTS = tuple(_changes(Recipe()))


def without(recipe: Recipe, part: str) -> Recipe:
    """The same recipe with one thing taken away: a row of the ablation table."""
    changes = _changes(recipe)
    if part not in changes:
        raise BadInput("--without", f"no part {part!r}", f"choose one of {', '.join(changes)}")
    return replace(recipe, **changes[part])


TINY = Recipe(
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
    steps=30,
    prior_steps=10,
    prior_people=6,
    windows_per_step=8,
    warmup_steps=5,
)
PRESETS = {"shipped": Recipe(), "tiny": TINY}
