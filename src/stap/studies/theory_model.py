"""A tiny transformer that learns one chain through shuffles, beside who computes Bayes' rule exactly."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from stap.events import CLOSE, OPEN, Longs
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.studies.chains import Bayes, transitions, walk
from stap.studies.experiment import Found
from stap.train import optimisers
from stap.train.config import TrainConfig

SEED, BATCH = 3, 16
KIND = "habits"


def run(apps: int, steps: int, length: int, walks: int) -> Found:
    """Per usage seen: the loss of the truth, of Bayes' rule and of the model, and how far the last two are apart."""
    torch.manual_seed(SEED)
    chances, rng = transitions(KIND, apps, SEED), np.random.default_rng(SEED)
    settings = TrainConfig(
        model=ModelConfig(
            vocabulary=apps,
            context=2 * length,
            dim=48,
            layers=3,
            heads=4,
            hidden=96,
            query_key_norm=True,
            ordinal_heads=4,
            mixed_keys=True,
        ),
        learning_rate=2e-3,
    )
    model = Transformer(settings.model)
    moving = optimisers.build(model, settings)
    for step in range(steps):
        optimisers.set_rate(moving, settings.learning_rate * min(1.0, (steps - step) / (0.3 * steps)), settings)
        loss = _losses(model, _batch(chances, length, BATCH, rng)).mean()
        torch.autograd.backward(loss)
        for optimiser in moving:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
    return _compared(model.eval(), chances, _batch(chances, length, walks, rng))


def _batch(chances: np.ndarray, length: int, count: int, rng: np.random.Generator) -> Longs:
    """(count, length) indices: every walk under a phi of its own."""
    return np.stack([rng.permutation(len(chances))[walk(chances, length, rng)] for _ in range(count)])


def _logits(model: Transformer, index: Longs) -> Tensor:
    """After every close, (count, length, n): a usage a minute."""
    count, length = index.shape
    app = torch.from_numpy(np.repeat(index, 2, axis=1))
    action = torch.tensor([OPEN, CLOSE]).repeat(count, length)
    minutes = torch.arange(2 * length, dtype=torch.float64).div(2).floor().expand(count, -1)
    logits: Tensor = model(app, action, minutes, torch.zeros(count, 2 * length))
    return logits[:, 1::2]


def _losses(model: Transformer, index: Longs) -> Tensor:
    """(count, length - 1)"""
    logits = _logits(model, index)[:, :-1]
    return F.cross_entropy(logits.transpose(1, 2), torch.from_numpy(index[:, 1:]), reduction="none")


def _compared(model: Transformer, chances: np.ndarray, index: Longs) -> Found:
    with torch.inference_mode():
        said = _logits(model, index).softmax(dim=-1).numpy()
    known = np.zeros(said.shape)
    for number, seen in enumerate(index):
        bayes = Bayes(chances)
        for step, each in enumerate(seen):
            bayes.observe(int(each))
            known[number, step] = bayes.predictive()

    def loss(predicted: np.ndarray) -> list[float]:
        chance = np.take_along_axis(predicted[:, :-1], index[:, 1:, None], axis=2)
        return [float(each) for each in -np.log(np.maximum(chance, 1e-12)).mean(axis=(0, 2))]

    share = np.linalg.matrix_power(chances, 1000)[0]
    entropy = -float((share[:, None] * chances * np.log(np.where(chances > 0, chances, 1.0))).sum())
    return {
        "apps": len(chances),
        "entropy": entropy,
        "bayes": loss(known),
        "model": loss(said),
        "distance": (0.5 * np.abs(said - known).sum(axis=2)).mean(axis=0)[:-1].tolist(),
    }
