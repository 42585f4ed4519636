"""The shipped model's task: which of a usage's candidates comes next, or an app never seen before.

An epoch is a round of the population: people of the prior first, then real people among them. A model with a launch
head is trained in two runs: first without it; then the head alone, on launches, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.errors import BadInput
from stap.events import Corpus, Longs
from stap.model.fusion import NEVER, Fusion
from stap.model.score import to_tensors
from stap.model.transformer import Transformer
from stap.phi import apply
from stap.train.config import TrainConfig
from stap.train.people import People, apart
from stap.train.tasks.base import OfTransformer, fresh, started
from stap.train.tasks.population import Population
from stap.train.tasks.rounds import Round
from stap.train.tasks.tables import SKIPPED, Table, join, tabulate
from stap.windows import encode, trimmed

KNOWN, OUTSIDE = 0.05, 0.1  # added to the deviations of statistics and moments: a constant one is not blown up


class EvidenceRound(Round[Table]):
    """With the evidence beside the events."""

    def labels(self, which: Longs) -> int:
        row, here = self.windows.rows(which)
        answer = self.table.answer[row[here]]
        most = self.table.candidate.shape[1] - (not self.settings.model.evidence)
        return int(((answer != SKIPPED) & (answer <= most)).sum())

    def tensors(self, which: Longs) -> tuple[Tensor, ...]:
        windows, table = trimmed(self.windows, which), self.table
        phi = self.phi(windows, which)
        inputs, _ = to_tensors(encode(self.corpus, windows, which, phi))
        row, here = windows.rows(which)
        n, usages = row.shape
        candidate = np.where(here[..., None], table.candidate[row], -1)  # (n, usages, K)
        evidence = (
            table.moment[row].reshape(n, 2 * usages, -1),
            table.asked[row],
            2 * np.arange(usages) + ~table.opened[row],  # the event after which each question is asked
            apply(phi, candidate.reshape(n, -1)).reshape(candidate.shape).astype(np.int64),
            table.statistics[row].astype(np.float32),
            table.rank[row].astype(np.int64),
            candidate >= 0,
            np.where(here, table.answer[row], SKIPPED),
        )
        return *inputs, *(torch.from_numpy(array) for array in evidence)


class Objective(nn.Module):
    """Cross-entropy over a position's candidates, summed; beside it the blend's, of the positions it knows."""

    def __init__(self, model: Transformer, hears_transformer: bool = True) -> None:
        super().__init__()
        self.model, self.hears_transformer = model, hears_transformer

    def forward(self, *tensors: Tensor) -> Tensor:
        scores, blend, answer = self.scores(*tensors)
        losses = [
            F.cross_entropy(each, answer, ignore_index=each.shape[1], reduction="sum") for each in (scores, blend)
        ]
        return torch.stack([*losses, (answer < blend.shape[1]).sum()])

    def scores(
        self,
        app: Tensor,  # (B, 2n) virtual indices, as the next three
        action: Tensor,
        minutes: Tensor,
        hour: Tensor,
        moment: Tensor,  # (B, 2n, C)
        asked: Tensor,  # (B, n, C)
        position: Tensor,  # (B, n)
        index: Tensor,  # (B, n, K) the candidates' virtual indices, -1 for none; as the next three
        statistics: Tensor,  # (B, n, K, F)
        rank: Tensor,
        present: Tensor,
        answer: Tensor,  # (B, n)
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of the N positions with an answer: scores (N, K + 1; K without evidence), the blend's (N, K), answers."""
        model, fusion = self.model, self.model.evidence
        kept = answer != SKIPPED
        if (launch := model.launch) is not None:
            statistics, present = statistics[kept], present[kept]
            scores = launch(None, launch.normal_moment(asked[kept]), statistics, rank[kept], None, present)
            return scores, statistics[..., 0].masked_fill(~present, NEVER), answer[kept]
        normal = None if fusion is None else fusion.normal_moment(moment)
        at = position[..., None]
        if self.hears_transformer:
            hidden = model.states(model.embed(app.clamp(min=0), action, hour, normal), minutes)
            hidden = hidden.gather(1, at.expand(-1, -1, hidden.shape[-1]))[kept]  # (N, d)
        else:
            hidden = torch.zeros(int(kept.sum()), model.config.dim, device=app.device)
        index, present, statistics = index[kept], present[kept], statistics[kept]
        logits = torch.where(index >= 0, model.head(hidden).gather(1, index.clamp(min=0)), 0.0)
        blend = statistics[..., 0].masked_fill(~present, NEVER)
        if fusion is None or normal is None:
            return logits.masked_fill(~present, NEVER), blend, answer[kept]
        return (
            fusion(hidden, fusion.normal_moment(asked[kept]), statistics, rank[kept], logits, present),
            blend,
            answer[kept],
        )


class Shipped(OfTransformer):
    sums = ("loss", "blend", "known")  # the blend's loss over the labels that it knows
    result = "model.safetensors"

    def __init__(self, corpus: Corpus | People, settings: TrainConfig, view: Corpus | None = None) -> None:
        if settings.model.launches and not settings.start:
            remedy = "name it with --start, e.g. RUN/model.safetensors of `stap train --preset shipped`"
            raise BadInput("training config", "a launch head is added to a trained model", remedy)
        self.settings, self.steps = settings, settings.population.steps
        self.people = apart(corpus, settings, view)
        self.population = Population(self.people.training, settings, tabulate, self.people.view)

    def epoch(self, number: int, begun: int) -> EvidenceRound:
        """A round on the prior alone ends where the real people come in."""
        mix = self.settings.population
        mixed = mix.real and begun >= mix.prior_steps
        rng = np.random.default_rng([self.settings.seed, 1, number])
        last = mix.prior_steps if mix.real and not mixed else mix.steps
        members = self.population.round(number, mixed, rng)
        return EvidenceRound.of(self.settings, number, members, join, rng, last - begun)

    def build(self) -> Transformer:
        """A fresh model; or a trained one, with a fresh launch head if it is to have one."""
        model = started(self.settings)
        if model is None:
            model = fresh(self.settings)
            nn.init.normal_(model.head.weight, std=0.02)  # the transformer is silent until it has something to say
            if model.evidence is not None:
                self._fit(model.evidence)
        elif model.launch is not None:
            self._fit(model.launch)
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(name.startswith("launch."))
        return model

    def _fit(self, head: Fusion) -> None:
        """Let a head know how large the statistics and the values of the moment usually are."""
        rng = np.random.default_rng([self.settings.seed, 1, 0])
        table = join([m.table for m in self.population.round(0, self.settings.population.real, rng)])
        statistics = table.statistics[::17][table.candidate[::17] >= 0].astype(np.float64)
        if not len(statistics):
            raise BadInput("log", "nothing to learn from: nobody comes back to an app", "give longer logs")
        _normalise(head, "statistic", statistics, KNOWN)
        moments = [table.moment[::5].reshape(-1, table.moment.shape[-1]), table.asked[::2]]
        if self.settings.model.launches:
            moments = moments[1:]  # it does not read events
        _normalise(head, "context", np.concatenate(moments), OUTSIDE)

    def objective(self, model: Transformer) -> nn.Module:
        return Objective(model, self.settings.population.transformer)

    def training(self, sums: Mapping[str, float], labels: int) -> dict[str, Any]:
        beside = {"blend": sums["blend"] / sums["known"]} if sums["known"] else {}
        return super().training(sums, labels) | beside

    @torch.no_grad()
    def finish(self, model: Transformer) -> None:
        """Without a transformer: what training never showed the head, it must not see in use."""
        fusion, dim = model.evidence, model.config.dim
        if self.settings.population.transformer or fusion is None:
            return
        for linear in (fusion.gate, fusion.state, fusion.unseen):
            linear.weight[:, :dim] = 0.0
        fusion.scale[1] = 0.0


def _normalise(head: Fusion, what: str, values: np.ndarray, least: float) -> None:
    values = values[:, : len(getattr(head, f"{what}_mean"))]
    mean, deviation = values.mean(axis=0), values.std(axis=0) + least
    getattr(head, f"{what}_mean").copy_(torch.from_numpy(mean))
    getattr(head, f"{what}_scale").copy_(torch.from_numpy(1.0 / deviation))
