"""MAPLE-style, after MAPLE (Khaokaew et al., IMWUT 2024), written anew over a closed vocabulary.

Known: one language model in two stages. The first reads the categories of the last 15 apps, weekday and hour, and says
up to three next categories with their shares. The second reads that sentence, the last 15 apps, weekday, hour and the
person's installed apps by category, and says the next app.
Derived: its lists of installed apps held the answer in all 512 public examples, so they come from the whole log, the
future included. So ours can be asked with either list: that one, or the apps seen so far.
Assumed: an encoder with a softmax instead of a language model, whose weights cannot be had here; categories are groups
of apps that come before and after the same apps (`stap.rivals.categories`), since logs have none; the second stage
reads the three likeliest categories, weighed; listed apps are one token a category, and a learned number raises them,
as a language model would copy from its list. The first stage's loss is the cross-entropy with the category that came:
summed over a log, it differs from the divergence to the shares after each sequence by a constant. Both are trained at
once, the second not moving the first; in training either list comes up by the toss of a coin. Full size: d = 256, 4
layers, 4 heads, 1024 inside, dropout 0.1, 3e-4, early stop.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.rivals.base import HOURS, WEEKDAYS, Dropout, Rival, attending
from stap.rivals.config import RivalConfig
from stap.rivals.scene import Scene

SAID = 3  # categories in the first stage's sentence


class Maple(Rival):
    group: Tensor

    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config)
        sizes, v = config.sizes, len(config.apps)
        group = torch.tensor([*config.category, sizes.categories, sizes.categories], device="cpu")
        self.register_buffer("group", group, persistent=False)  # of every app; one more for apps outside and none
        self.categories = nn.Embedding(sizes.categories + 1, sizes.dim)
        self.hour = nn.Embedding(HOURS, sizes.dim)
        self.weekday = nn.Embedding(WEEKDAYS, sizes.dim)
        self.place = nn.Parameter(0.02 * torch.randn(sizes.recent, sizes.dim))
        self.first = attending(sizes.dim, sizes.heads, sizes.hidden, sizes.layers)
        self.say = nn.Linear(sizes.dim, sizes.categories)
        self.sentence = nn.Linear(sizes.dim, sizes.dim)
        self.installed = nn.Linear(sizes.dim, sizes.dim)
        self.second = attending(sizes.dim, sizes.heads, sizes.hidden, sizes.layers)
        self.dropout = Dropout(sizes.dropout)
        self.out = nn.Linear(sizes.dim, v)
        self.copy = nn.Parameter(torch.tensor(2.0))

    def forward(self, scene: Scene) -> Tensor:
        return self.stages(scene)[1]

    def loss(self, scene: Scene, label: Tensor) -> Tensor:
        category, app = self.stages(scene)
        first = F.cross_entropy(category, self.group[label], reduction="sum")
        return first + F.cross_entropy(app, label, reduction="sum")

    def stages(self, scene: Scene) -> tuple[Tensor, Tensor]:
        """(n, categories) and (n, V) logits."""
        kinds = self.categories(self.group[scene.app]) + self.place
        clock = (self.hour(scene.now[:, 0]) + self.weekday(scene.now[:, 1]))[:, None]
        nothing = scene.app == len(self.config.apps) + 1
        category = self.say(_read(self.first, [kinds, clock], nothing))
        share, best = category.detach().softmax(dim=1).topk(min(SAID, category.shape[1]), dim=1)
        sentence = self.sentence((share[..., None] * self.categories(best)).sum(dim=1))[:, None]
        usages = self.dropout(self.apps(scene.app) + kinds)
        return category, self._answer(scene, [usages, sentence, self._list(scene.listed), clock], nothing)

    def _list(self, listed: Tensor) -> Tensor:
        """(n, V) -> (n, categories, d): the mean of the listed apps of each category."""
        own = [torch.nonzero(self.group[:-2] == category)[:, 0] for category in range(self.config.sizes.categories)]
        weight = listed.float()
        total = torch.stack([weight[:, apps] @ self.apps.weight[apps] for apps in own], dim=1)
        number = torch.stack([weight[:, apps].sum(dim=1) for apps in own], dim=1)
        tokens: Tensor = self.installed(total / number.clamp(min=1.0)[..., None]) + self.categories.weight[:-1]
        return tokens

    def _answer(self, scene: Scene, tokens: list[Tensor], nothing: Tensor) -> Tensor:
        state = self.dropout(_read(self.second, tokens, nothing))
        logits: Tensor = self.out(state) + self.copy * scene.listed
        return logits


def _read(encoder: nn.TransformerEncoder, tokens: list[Tensor], nothing: Tensor) -> Tensor:
    """What the last token, the clock, has come to; usages that are not there are not read."""
    every = torch.cat(tokens, dim=1)
    hidden = torch.cat([nothing, nothing.new_zeros(len(nothing), every.shape[1] - nothing.shape[1])], dim=1)
    state: Tensor = encoder(every, src_key_padding_mask=hidden)[:, -1]
    return state
