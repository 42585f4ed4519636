"""CoSEM (Khaokaew et al., CIKM 2021), written anew; no code of it is public.

Known: a semantic embedding and a contextual one, the "profile", from the person's own past; each through a network of
its own, joined by an element-wise product; no trained person, so strangers can be asked.
Assumed: the two-tower form and the attention of AppUsage2Vec; the profile is linear in log(1 + how often the person has
used each app); the semantic part has the last 15 apps, the hour and the weekday, since there is no text of places,
queries or tasks here. Full size: d = 64, towers of 128, Adam at 1e-3, batches of 512.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stap.rivals.appusage2vec import Attention, Tower
from stap.rivals.base import HOURS, WEEKDAYS, Dropout, Rival, one_hot
from stap.rivals.config import RivalConfig
from stap.rivals.scene import Scene


class CoSEM(Rival):
    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config)
        sizes = config.sizes
        self.attention = Attention(sizes.recent, sizes.dim)
        self.hour = nn.Embedding(HOURS, sizes.dim)
        self.weekday = nn.Embedding(WEEKDAYS, sizes.dim)
        self.profile = nn.Linear(len(config.apps), sizes.dim)
        self.semantic_tower = Tower(3 * sizes.dim, sizes.hidden)
        self.profile_tower = Tower(sizes.dim, sizes.hidden)
        self.dropout = Dropout(sizes.dropout)
        self.out = nn.Linear(sizes.hidden + HOURS + WEEKDAYS, len(config.apps))

    def forward(self, scene: Scene) -> Tensor:
        recent = self.attention(self.apps(scene.app), scene.ago)
        semantic = torch.cat([recent, self.hour(scene.now[:, 0]), self.weekday(scene.now[:, 1])], dim=1)
        product = self.semantic_tower(semantic) * self.profile_tower(self.profile(scene.uses))
        logits: Tensor = self.out(torch.cat([self.dropout(product), one_hot(scene.now)], dim=1))
        return logits
