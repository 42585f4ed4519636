"""Which optimiser moves which weights: Muon the matrices between layers, AdamW everything else.

Muon makes the step of a matrix equally long in every direction, and gets further here in as many steps
(docs/results/shipped.md). Tables of vectors, the last layers and what is no matrix stay with AdamW, as usual with Muon.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch.optim import AdamW, Optimizer

from stap.model.transformer import Transformer
from stap.rivals.base import Rival
from stap.train.config import TrainConfig
from stap.train.muon import Muon

Model = Transformer | Rival  # what can be trained
BETWEEN = (
    *("attention.qkv", "attention.out", "feedforward.gate_up", "feedforward.down"),
    *(f"{head}.{part}" for head in ("evidence", "launch") for part in ("statistics", "state", "hidden")),
    *("compare.qkv", "compare.out"),
)


def build(model: Model, settings: TrainConfig) -> list[Optimizer]:
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    matrices = [named[name] for name in named if settings.muon and name.removesuffix(".weight").endswith(BETWEEN)]
    moved = set(map(id, matrices))
    others = [parameter for parameter in named.values() if id(parameter) not in moved]
    rate, decay, betas = settings.learning_rate, settings.weight_decay, (0.9, settings.beta2)
    both: list[Optimizer] = [AdamW(others, lr=rate, weight_decay=decay, betas=betas, fused=True)]
    return [*both, Muon(matrices, lr=rate, weight_decay=settings.muon_decay)] if matrices else both


def set_rate(optimisers: Sequence[Optimizer], rate: float, settings: TrainConfig) -> None:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate * settings.muon if isinstance(optimiser, Muon) else rate
