"""The rivals' task: after a usage's close, which app of a fixed vocabulary comes next.

A position is a window of its own, with the last usages in it; so batches, pieces and steps are dealt out as for the
other tasks. The vocabulary and the categories are those of the people who train. Validation picks the best weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from stap.errors import BadInput
from stap.events import NO_LABEL, Corpus, Longs
from stap.metrics import NAMES, gains
from stap.rivals.base import Rival, build, save
from stap.rivals.categories import categories
from stap.rivals.config import RivalConfig
from stap.rivals.predictor import AT_ONCE, Rivals
from stap.rivals.scene import Asked, Scene, Sight, vocabulary
from stap.train.config import TrainConfig
from stap.train.parallel import World
from stap.train.people import People, split
from stap.train.tasks.base import Epoch, Task
from stap.windows import Windows

POSITIONS = 1500  # of a person in an epoch: people shall count alike, and heavy users not for all
VALIDATED = 3000  # of a person's positions


@dataclass(frozen=True)
class RivalEpoch(Epoch):
    sight: Sight

    def labels(self, which: Longs) -> int:
        return len(which)

    def tensors(self, which: Longs) -> tuple[Tensor, ...]:
        """The scene, the labels, and what dropout goes by."""
        row = self.windows.first[which] + self.windows.usages[which] - 1
        asked = _asked(self.sight, self.windows.user[which], row)
        scene = self.sight.scene(asked)
        rng = np.random.default_rng([self.settings.seed, 7, self.number, int(which[0])])
        hidden = torch.from_numpy(rng.random(len(which)) < self.settings.rival.unknown)
        whole = torch.from_numpy(self.sight.listed(asked.user, np.empty(0, np.int64), "installed"))
        coin = torch.from_numpy(rng.random(len(which)) < 0.5)[:, None]
        scene = scene._replace(
            person=torch.where(hidden, 0, scene.person), listed=torch.where(coin, whole, scene.listed)
        )
        return *scene, torch.from_numpy(self.sight.label[row]), torch.tensor(int(rng.integers(2**31)))


def _asked(sight: Sight, user: Longs, row: Longs) -> Asked:
    """After the close of these usages; or, told the hour, when the next app comes."""
    corpus = sight.corpus
    now = corpus.start[row + 1] if sight.config.sizes.told_hour else corpus.end[row]
    return Asked(user, row, corpus.offsets[user], now)


class Objective(nn.Module):
    def __init__(self, model: Rival) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        *scene, label, seed = inputs
        self.model.draw(int(seed))
        return self.model.loss(Scene(*scene), label)[None]


class RivalTask(Task[Rival]):
    sums = ("loss",)
    result = "best.safetensors"
    chooses = True

    def __init__(self, corpus: Corpus | People, settings: TrainConfig, where: str) -> None:
        self.settings = settings
        self.people = split(corpus, settings, where)
        training = self.people.training
        if not any(map(any, training.apps)):  # a shelf that processes share has no names
            raise BadInput(where, "a rival knows apps by name, and trains in one process", "start it without torchrun")
        rows = np.flatnonzero(training.label != NO_LABEL)
        user = np.searchsorted(training.offsets, rows, "right") - 1
        self._rows = [rows[user == each] for each in range(len(training.users))]
        number = sum(min(POSITIONS, len(each)) for each in self._rows)
        self.steps = settings.epochs * -(-number // (settings.tokens_per_batch // (2 * settings.rival.recent)))

    @cached_property
    def config(self) -> RivalConfig:
        training, sizes = self.people.training, self.settings.rival
        apps = vocabulary(training)
        bare = RivalConfig(sizes, apps, (), (0,) * len(apps))
        sight = Sight(training, bare)
        known = sight.label >= 0
        kind = categories(sight.app[known], sight.label[known], len(apps), sizes.categories)
        return RivalConfig(sizes, apps, training.users, tuple(kind.tolist()))

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.people.training, self.config)

    def build(self) -> Rival:
        torch.manual_seed(self.settings.seed)
        return build(self.config)

    def objective(self, model: Rival) -> nn.Module:
        return Objective(model)

    def epoch(self, number: int, begun: int = 0) -> RivalEpoch:
        rng, recent = np.random.default_rng([self.settings.seed, number]), self.settings.rival.recent
        row = np.concatenate([rng.permutation(own)[:POSITIONS] for own in self._rows])
        corpus = self.people.training
        user = np.searchsorted(corpus.offsets, row, "right") - 1
        first = np.maximum(corpus.offsets[user], row - recent + 1)
        windows = Windows(user, first, row - first + 1, 2 * recent)
        return RivalEpoch(self.settings, number, corpus, windows, rng.permutation(len(row)), self._sight)

    @torch.no_grad()
    def validate(self, model: Rival, world: World) -> dict[str, float]:
        """Loss of the answers inside the vocabulary; hits of all, an app outside it being a miss."""
        corpus = self.people.validation.first(VALIDATED)
        sight = Sight(corpus, self.config)
        row = np.flatnonzero(sight.label >= 0)
        asked = _asked(sight, np.searchsorted(corpus.offsets, row, "right") - 1, row)
        loss, inside, gained, rivals = 0.0, 0, np.zeros(len(NAMES)), Rivals(model)
        for low in range(0, len(row), AT_ONCE):
            part = asked.part(slice(low, low + AT_ONCE))
            label = torch.from_numpy(sight.label[part.row])
            known = label < len(self.config.apps)
            scene = sight.scene(part)
            loss += float(model.loss(Scene(*(each[known] for each in scene)), label[known]))
            inside += int(known.sum())
            gained += gains(rivals.rank(sight, part)).sum(axis=0)
        hits = dict(zip(NAMES, (100 * gained / max(1, len(row))).tolist(), strict=True))
        return {"loss": loss / max(1, inside)} | hits

    def save(self, model: Rival, path: Path) -> None:
        save(model, path)
