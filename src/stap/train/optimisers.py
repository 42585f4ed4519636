"""Which optimiser moves which weights: Muon the matrices between layers, AdamW everything else.

Muon makes the step of a matrix equally long in every direction, and gets further here in as many steps
(docs/results/recipe.md). Tables of vectors, the last layers and what is no matrix stay with AdamW, as usual with Muon.
"""

from __future__ import annotations

from torch.optim import AdamW, Optimizer

from stap.model.transformer import Transformer
from stap.train.muon import Muon
from stap.train.recipe import Recipe

BETWEEN = (
    *("attention.qkv", "attention.out", "feedforward.gate_up", "feedforward.down"),
    *("evidence.statistics", "evidence.state", "evidence.hidden", "compare.qkv", "compare.out"),
)


def build(model: Transformer, recipe: Recipe) -> list[Optimizer]:
    named = dict(model.named_parameters())
    matrices = [named[name] for name in named if recipe.muon and name.removesuffix(".weight").endswith(BETWEEN)]
    moved = set(map(id, matrices))
    others = [parameter for parameter in named.values() if id(parameter) not in moved]
    rate, decay = recipe.learning_rate, recipe.weight_decay
    found: list[Optimizer] = [AdamW(others, lr=rate, weight_decay=decay, betas=(0.9, 0.98), fused=True)]
    return [*found, Muon(matrices, lr=rate, weight_decay=recipe.muon_decay)] if matrices else found


def set_rate(optimisers: list[Optimizer], rate: float, recipe: Recipe) -> None:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate * recipe.muon if isinstance(optimiser, Muon) else rate
