"""The pure model's task: the paper's question and nothing but events to answer it, asked of a whole population.

Besides the people there are, people of the prior, people made from real ones and newcomers come up, as for the shipped
model; and a teacher may say after every usage how likely each app is. Neither is needed once the model is trained.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.events import NO_LABEL, Corpus, Longs
from stap.model.score import summed_loss, to_tensors
from stap.model.transformer import Transformer
from stap.phi import apply
from stap.train.config import TrainConfig
from stap.train.parallel import World
from stap.train.people import People, apart
from stap.train.tasks.base import OfTransformer, fresh, started
from stap.train.tasks.paper import validate
from stap.train.tasks.population import Member, Population
from stap.train.tasks.rounds import Round
from stap.train.teacher import Answers, Teacher, join, silent
from stap.weights import model_file
from stap.windows import encode, filter_users, trimmed

NEVER = -1e4  # the logit of an app that is no candidate


class TaughtRound(Round[Answers]):
    """With the teacher's answers beside the labels."""

    def labels(self, which: Longs) -> int:
        """Every event but a person's last two. (One of more than V apps may miss some.)"""
        row, here = self.windows.rows(which)
        return 2 * int((self.corpus.label[row[here]] != NO_LABEL).sum())

    def tensors(self, which: Longs) -> tuple[Tensor, ...]:
        windows = trimmed(self.windows, which)
        phi = self.phi(windows, which)
        inputs, label = to_tensors(encode(self.corpus, windows, which, phi))
        row, here = windows.rows(which)
        said = np.where(here[..., None], self.table.app[row], -1)  # (n, usages, K)
        said = apply(phi, said.reshape(len(said), -1)).reshape(said.shape).astype(np.int64)
        return *inputs, label, torch.from_numpy(said), torch.from_numpy(self.table.share[row])


class Objective(nn.Module):
    """Cross-entropy with what came and, for a share of it, with what the teacher said; summed over labels.

    Over all of V as in the paper, or among the apps that the window has shown so far, as predictions are made: over V
    a model spends much of what it says on telling those from indices that nobody uses.
    """

    def __init__(self, model: Transformer, settings: TrainConfig) -> None:
        super().__init__()
        self.model, self.teaching, self.among_seen = model, settings.teaching, settings.among_seen

    def forward(
        self, app: Tensor, action: Tensor, minutes: Tensor, hour: Tensor, label: Tensor, said: Tensor, share: Tensor
    ) -> Tensor:
        """label (B, 2n); said, share (B, n, K): indices, -1 for none. Gives the loss, and that of the labels alone."""
        logits = self.model(app, action, minutes, hour)
        if self.among_seen:
            known = seen(app, logits.shape[-1])
            logits, label = logits.masked_fill(~known, NEVER), _kept(known, label)
        hard = summed_loss(logits, label)
        if not said.shape[-1]:
            return torch.stack([hard, hard])
        # What is said after the close is the best there is to say after the open, too.
        said, share = (part.repeat_interleave(2, dim=1) for part in (said, share))
        share = share * ((said >= 0) & (label != NO_LABEL)[..., None])
        if self.among_seen:
            share = share * known.gather(2, said.clamp(min=0))
        chance = F.log_softmax(logits.float(), dim=-1)
        soft = -(share * chance.gather(2, said.clamp(min=0))).sum(dim=-1)  # (B, 2n)
        taught = self.teaching * share.sum(dim=-1)
        own = F.nll_loss(chance.transpose(1, 2), label, ignore_index=NO_LABEL, reduction="none")
        return torch.stack([(self.teaching * soft + (1.0 - taught) * own).sum(), own.sum()])


def seen(app: Tensor, vocabulary: int) -> Tensor:
    """(B, n) -> (B, n, V): whether the index has come up by then."""
    place = torch.arange(app.shape[1], device=app.device)
    first = torch.full((len(app), vocabulary), app.shape[1], device=app.device)
    first = first.scatter_reduce(1, app, place.expand_as(app), "amin")
    return first[:, None] <= place[:, None]


def _kept(known: Tensor, label: Tensor) -> Tensor:
    """The labels less those that nobody could have named."""
    could = known.gather(2, label.clamp(min=0)[..., None])[..., 0]
    return torch.where(could, label, NO_LABEL)


class Pure(OfTransformer):
    sums = ("loss", "label_loss")
    result = "model.safetensors"

    def __init__(self, corpus: Corpus | People, settings: TrainConfig, view: Corpus | None = None) -> None:
        self.settings, self.steps = settings, settings.population.steps
        self.people = apart(corpus, settings, view)
        teacher = Teacher(model_file(Path(settings.teacher))) if settings.teacher else silent
        self.population = Population(self.people.training, settings, teacher, self.people.view)
        self._members = lru_cache(1)(self._draw)

    def _draw(self, number: int, mixed: bool) -> list[Member[Answers]]:
        return self.population.round(number, mixed, np.random.default_rng([self.settings.seed, 2, number]))

    def epoch(self, number: int, begun: int) -> TaughtRound:
        """Everybody stays for some rounds: what the teacher says of them takes its time."""
        mix = self.settings.population
        mixed = mix.real and begun >= mix.prior_steps
        rng = np.random.default_rng([self.settings.seed, 1, number])
        last = mix.prior_steps if mix.real and not mixed else mix.steps
        members = self._members(number // mix.stay, mixed)
        return TaughtRound.of(self.settings, number, members, join, rng, last - begun)

    def build(self) -> Transformer:
        return started(self.settings) or fresh(self.settings)

    def objective(self, model: Transformer) -> nn.Module:
        return Objective(model, self.settings)

    def validate(self, model: Transformer, world: World) -> dict[str, float]:
        """On the people held out, where there are any. It decides nothing: it draws the curve."""
        watched = filter_users(self.people.testing, self.settings.model.vocabulary)
        return validate(model, watched, self.settings.seed, world) if watched.users else {}
