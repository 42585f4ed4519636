"""The paper's task: at every event, which of V virtual indices is the next app.

Which windows make up step s of epoch e follows from (seed, epoch, step), so any process can work out any batch on its
own, and a resumed run needs no more than a step counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stap.events import Corpus, Longs
from stap.metrics import gains
from stap.model.score import GAINED, ranks, summed_gains, summed_loss, to_tensors
from stap.model.transformer import Transformer
from stap.phi import draw, invert
from stap.train.config import TrainConfig
from stap.train.parallel import World
from stap.train.people import People, split
from stap.train.tasks.base import Epoch, OfTransformer, fresh, started
from stap.windows import cut, encode, trimmed


@dataclass(frozen=True)
class PaperEpoch(Epoch):
    def labels(self, which: Longs) -> int:
        """Every event but a user's last two."""
        end = self.windows.first[which] + self.windows.usages[which]
        last = end == self.corpus.offsets[self.windows.user[which] + 1]
        return 2 * int(self.windows.usages[which].sum() - last.sum())

    def tensors(self, which: Longs) -> tuple[Tensor, ...]:
        """With a phi anew for every window and epoch; without shuffling, once a user."""
        settings = self.settings
        epoch, drawn_for = (self.number, which) if settings.shuffle else (0, self.windows.user[which])
        phi = draw(settings.seed, epoch, drawn_for, settings.model.vocabulary)
        inputs, label = to_tensors(encode(self.corpus, trimmed(self.windows, which), which, phi))
        candidates = invert(phi, self.corpus.app_counts[self.windows.user[which]]) >= 0  # (n, V)
        return *inputs, label, torch.from_numpy(candidates)


class Objective(nn.Module):
    """Cross-entropy over V, and hits among the person's apps, summed over the events that have a label."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, app: Tensor, action: Tensor, minutes: Tensor, hour: Tensor, label: Tensor, candidates: Tensor
    ) -> Tensor:
        logits = self.model(app, action, minutes, hour)
        return torch.cat([summed_loss(logits, label)[None], summed_gains(logits, label, candidates)])


class Paper(OfTransformer):
    sums = ("loss", *GAINED)
    result = "best.safetensors"
    chooses = True

    def __init__(self, corpus: Corpus | People, settings: TrainConfig, where: str) -> None:
        self.settings = settings
        self.people = split(corpus, settings, where)
        self._windows = lru_cache(2)(lambda context: cut(self.people.training, context))
        contexts = map(settings.context_of, range(settings.epochs))
        self.steps = sum(-(-len(self._windows(c)) // (settings.tokens_per_batch // c)) for c in contexts)

    def build(self) -> Transformer:
        return started(self.settings) or fresh(self.settings)

    def objective(self, model: Transformer) -> nn.Module:
        return Objective(model)

    def training(self, sums: Mapping[str, float], labels: int) -> dict[str, Any]:
        """Hits while training, too: the non-shuffle ablation shows in them."""
        return super().training(sums, labels) | {"training": {name: 100 * sums[name] / labels for name in GAINED}}

    def epoch(self, number: int, begun: int = 0) -> PaperEpoch:
        windows = self._windows(self.settings.context_of(number))
        order = np.random.default_rng([self.settings.seed, number]).permutation(len(windows))
        return PaperEpoch(self.settings, number, self.people.training, windows, order)

    def validate(self, model: Transformer, world: World) -> dict[str, float]:
        return validate(model, self.people.validation, self.settings.seed, world)


def validate(model: Transformer, corpus: Corpus, seed: int, world: World) -> dict[str, float]:
    """Mean loss, HR@k and MRR@k (percent) over all labelled events; every process takes its share of the windows."""
    windows = cut(corpus, model.config.context)
    sums = np.zeros(2 + len(GAINED))
    mine = np.arange(len(windows))[world.rank :: world.size]
    if len(mine):
        for _, loss, _, rank, first in ranks(model, corpus, windows, mine, seed, world.device):
            sums += [loss, len(rank), *gains(rank).sum(axis=0), first.sum()]
    loss, count, *total = world.total(sums.tolist())
    return {"loss": loss / count} | {name: 100 * value / count for name, value in zip(GAINED, total, strict=True)}
