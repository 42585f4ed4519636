"""NeuSA (Aliannejadi et al., TOIS 2021), written anew; no code of its model is public.

Known: a neural family with a sequential, a temporal and a personal part.
Assumed: an LSTM over the last 9 usages; beside its state the part of the day (8 bins), the weekday and the person; a
fully connected layer; a softmax over apps. Full size: vectors of 100, an LSTM of 256, a layer of 256, dropout 0.3, Adam
at 1e-3, batches of 512. A person never trained on has a row of "nobody knows", which training visits by hiding 20 % of
the people.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stap.rivals.base import HOURS, WEEKDAYS, Dropout, Rival
from stap.rivals.config import RivalConfig
from stap.rivals.scene import Scene

BINS = 8  # parts of the day
DAYTIME, WEEKDAY, PERSON = 16, 8, 32  # values of each


class NeuSA(Rival):
    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config)
        sizes = config.sizes
        self.sequence = nn.LSTM(sizes.dim, sizes.hidden, batch_first=True)
        self.daytime = nn.Embedding(BINS, DAYTIME)
        self.weekday = nn.Embedding(WEEKDAYS, WEEKDAY)
        self.person = nn.Embedding(len(config.users) + 1, PERSON)
        self.joined = nn.Linear(sizes.hidden + DAYTIME + WEEKDAY + PERSON, sizes.hidden)
        self.dropout = Dropout(sizes.dropout)
        self.out = nn.Linear(sizes.hidden, len(config.apps))

    def forward(self, scene: Scene) -> Tensor:
        _, (state, _) = self.sequence(self.apps(scene.app))
        daytime = self.daytime(scene.now[:, 0] * BINS // HOURS)
        parts = [state[0], daytime, self.weekday(scene.now[:, 1]), self.person(scene.person)]
        logits: Tensor = self.out(self.dropout(torch.relu(self.joined(torch.cat(parts, dim=1)))))
        return logits
