"""TGT, a temporal gating Transformer (Li et al., 2025; first called Atten-Transformer), written anew, for reference.

Known: the last five usages with how long each lasted, the person and the hour go into a Transformer; a gate from the
hour of the day rescales every feature of its output; the hour is that of the app to be predicted; repeats stay in; its
publication has no validation set.
Assumed: usages with their hours and a learned place; the gate is the sigmoid of two layers; the gated state of the
current usage and the person's vector, linear to apps. Ours asks without the target's hour (`told_hour` gives it),
merges repeats and stops by validation, as everybody else here. Full size: d = 128, 4 layers, 4 heads.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stap.rivals.base import HOURS, WEEKDAYS, Dropout, Rival, attending
from stap.rivals.config import RivalConfig
from stap.rivals.scene import Scene


class Tgt(Rival):
    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config)
        sizes = config.sizes
        self.hour = nn.Embedding(HOURS, sizes.dim)
        self.weekday = nn.Embedding(WEEKDAYS, sizes.dim)
        self.times = nn.Linear(2, sizes.dim)  # how long ago it began, how long it lasted
        self.place = nn.Parameter(0.02 * torch.randn(sizes.recent, sizes.dim))
        self.encoder = attending(sizes.dim, sizes.heads, sizes.hidden, sizes.layers)
        self.gate = nn.Sequential(nn.Linear(2 * sizes.dim, sizes.dim), nn.GELU(), nn.Linear(sizes.dim, sizes.dim))
        self.person = nn.Embedding(len(config.users) + 1, sizes.dim)
        self.dropout = Dropout(sizes.dropout)
        self.out = nn.Linear(2 * sizes.dim, len(config.apps))

    def forward(self, scene: Scene) -> Tensor:
        times = self.times(torch.stack([scene.ago, scene.stay], dim=2))
        usages = self.apps(scene.app) + self.hour(scene.hour) + times + self.place
        nothing = scene.app == len(self.config.apps) + 1
        state = self.encoder(self.dropout(usages), src_key_padding_mask=nothing)[:, -1]
        now = torch.cat([self.hour(scene.now[:, 0]), self.weekday(scene.now[:, 1])], dim=1)
        gated = state * torch.sigmoid(self.gate(now))
        logits: Tensor = self.out(torch.cat([self.dropout(gated), self.person(scene.person)], dim=1))
        return logits
