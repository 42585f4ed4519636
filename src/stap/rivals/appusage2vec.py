"""AppUsage2Vec (Zhao et al., ICDE 2019), written anew, for reference.

Known, from its public code: attention over the last k apps, each with one number of its time, tanh(linear(k (d + 1) ->
k)), L1-normalised; that and the person's vector through two stacks of two (linear, tanh) each; their element-wise
product; a one-hot of weekday and hour beside it; linear to apps.
Assumed: k = 4 and d = 64 at full size; the number is how long ago a usage began; cross-entropy over all apps instead of
samples; the row "nobody knows" for new people, as in NeuSA.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stap.rivals.base import HOURS, WEEKDAYS, Dropout, Rival, one_hot
from stap.rivals.config import RivalConfig
from stap.rivals.scene import Scene


class Tower(nn.Sequential):
    """One of the two stacks."""

    def __init__(self, inside: int, hidden: int) -> None:
        super().__init__(nn.Linear(inside, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())


class Attention(nn.Module):
    """Weights of the last k usages from all of them together."""

    def __init__(self, recent: int, dim: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(recent * (dim + 1), recent)

    def forward(self, apps: Tensor, ago: Tensor) -> Tensor:
        """(n, k, d), (n, k) -> (n, d)"""
        every = torch.cat([apps, ago[..., None]], dim=2).flatten(1)
        weight = nn.functional.normalize(torch.tanh(self.weigh(every)), p=1.0, dim=1)
        return (weight[..., None] * apps).sum(dim=1)


class AppUsage2Vec(Rival):
    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config)
        sizes = config.sizes
        self.attention = Attention(sizes.recent, sizes.dim)
        self.person = nn.Embedding(len(config.users) + 1, sizes.dim)
        self.app_tower = Tower(sizes.dim, sizes.hidden)
        self.person_tower = Tower(sizes.dim, sizes.hidden)
        self.dropout = Dropout(sizes.dropout)
        self.out = nn.Linear(sizes.hidden + HOURS + WEEKDAYS, len(config.apps))

    def forward(self, scene: Scene) -> Tensor:
        recent = self.app_tower(self.attention(self.apps(scene.app), scene.ago))
        product = recent * self.person_tower(self.person(scene.person))
        logits: Tensor = self.out(torch.cat([self.dropout(product), one_hot(scene.now)], dim=1))
        return logits
