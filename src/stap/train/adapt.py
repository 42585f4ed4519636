"""Fine-tuning to one person, on their own machine: only the small parts move, and a held-back tail has to prove it.

The first part of the log is learned from. On the rest, which the adapted model never saw, both models are asked the
same questions; unless the adapted one is better by more than chance, nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.errors import BadInput
from stap.events import Corpus, tidy
from stap.model import weights
from stap.model.transformer import Transformer
from stap.terminal import Tick, quiet
from stap.train.config import TrainConfig
from stap.train.tasks.population import Member
from stap.train.tasks.shipped import EvidenceRound, Objective
from stap.train.tasks.tables import LAUNCHES, SKIPPED, USAGES, Table, join, tabulate
from stap.windows import Windows

LEARNED = 0.7  # of the log; the tail is what remains
LEAST = 400  # usages that are worth the attempt
STEPS = 60  # more, or larger ones, learn the log and not the person
WINDOWS = 4  # a step
RATE = 5e-4
CLIP = 1.0
PULL = 0.1  # towards the weights it came from, a step
SURE = 2.0  # standard errors that the tail's loss has to fall by


@dataclass(frozen=True)
class Proof:
    """Both models on the tail: n positions, mean log loss and HR@1 in percent."""

    positions: int
    loss_before: float
    loss_after: float
    error: float  # standard error of the difference
    hits_before: float
    hits_after: float

    @property
    def helps(self) -> bool:
        return self.loss_before - self.loss_after > SURE * self.error and self.hits_after >= self.hits_before


def small_parts(model: Transformer) -> dict[str, nn.Parameter]:
    """Of the head that answers, what weighs evidence: a fifth of the shipped model. And every norm that it hears of.

    Not its input to the transformer, and not how candidates are compared: one person's log is too short for that. The
    launch head, where there is one, answers at the launcher's moment and does not read the transformer.
    """
    head = "evidence." if model.launch is None else "launch."
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if (model.launch is None and name.endswith("norm.weight"))
        or (name.startswith(head) and not name.startswith((f"{head}embed", f"{head}compare")))
    }


def adapt(path: Path, corpus: Corpus, out: Path, where: str, tick: Tick = quiet) -> Proof:
    """Adapt the model in a file to the launches of the one person of a corpus; `out` is written only where it helps."""
    if len(corpus.users) > 1:
        raise BadInput(where, f"{len(corpus.users)} users in it", "choose one with --user")
    (usages,) = corpus.everybody()
    if len(usages.app) < LEAST:
        raise BadInput(where, f"{len(usages.app)} usages are too few to learn a person from", f"log {LEAST} or more")
    torch.set_num_threads(1)  # with so little to do at once a second one only waits
    model = weights.load(path)
    if model.evidence is None:
        raise BadInput(str(path), "a model without an evidence head has no small parts to adapt", "use the shipped one")
    asking = USAGES if model.launch is None else LAUNCHES
    if model.launch is None:
        usages = tidy(usages)  # the next other app: the paper's usages
    settings = TrainConfig(task="shipped", model=model.config, tokens_per_batch=WINDOWS * model.config.context)
    person = Member(0, usages, tabulate(usages, np.random.default_rng(0), asking))
    cut = round(LEARNED * len(person.table))
    before = _tail(model, settings, person, cut)
    past = Table(*(getattr(person.table, field.name)[:cut] for field in fields(Table)))
    _learn(model, settings, Member(0, usages.take(slice(cut)), past), tick)
    proof = _compare(before, _tail(model, settings, person, cut))
    if proof.helps:
        stored = weights.stored(path)
        stored.update({name: parameter.detach().numpy() for name, parameter in small_parts(model).items()})
        weights.write_model(stored, model.config, out)
    return proof


def _learn(model: Transformer, settings: TrainConfig, past: Member[Table], tick: Tick) -> None:
    parts = small_parts(model)
    start = {name: parameter.detach().clone() for name, parameter in parts.items()}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in parts)
    optimiser = torch.optim.AdamW(parts.values(), lr=RATE, weight_decay=0.0)
    rng, objective, done = np.random.default_rng(1), Objective(model), 0
    model.train()
    while done < STEPS:
        # As many other cuts of the same log.
        passes = EvidenceRound.of(settings, done, [past] * WINDOWS, join, rng, STEPS - done)
        for step in range(len(passes)):
            batch = passes.batch(step)
            optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(objective(*passes.tensors(batch))[0] / max(1, passes.labels(batch)))
            nn.utils.clip_grad_norm_(parts.values(), CLIP)
            optimiser.step()
            with torch.no_grad():
                for name, parameter in parts.items():
                    parameter.lerp_(start[name], PULL)
            tick(1)
        done += len(passes)
    model.eval()


@torch.no_grad()
def _tail(model: Transformer, settings: TrainConfig, person: Member[Table], cut: int) -> tuple[Tensor, Tensor]:
    """(loss, whether the first guess was right) at every position of the tail; each sees half a window or more."""
    model.eval()
    usages, half = len(person.table), model.config.context // 4
    first = np.arange(cut, usages, half)
    low, high = np.maximum(0, first - half), np.minimum(first + half, usages)
    corpus = Corpus.of([("", ("",) * (int(person.usages.app.max()) + 1), person.usages)])
    windows = Windows(np.zeros(len(first), np.int64), low, high - low, model.config.context)
    asked = EvidenceRound(settings, 0, corpus, windows, np.arange(len(first)), person.table, np.zeros(1, np.int64))
    losses, hits = [], []
    for number in range(len(first)):
        tensors = asked.tensors(np.array([number]))
        tensors[-1][:, : first[number] - low[number]] = SKIPPED  # these were asked before, or learned from
        scores, _, came = Objective(model).scores(*tensors)
        losses.append(F.cross_entropy(scores, came, reduction="none"))
        hits.append((scores[:, :-1].argmax(dim=1) == came).float())
    return torch.cat(losses).double(), torch.cat(hits)


def _compare(before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]) -> Proof:
    gain = before[0] - after[0]
    return Proof(
        positions=len(gain),
        loss_before=before[0].mean().item(),
        loss_after=after[0].mean().item(),
        error=gain.std().item() / len(gain) ** 0.5,
        hits_before=100 * before[1].mean().item(),
        hits_after=100 * after[1].mean().item(),
    )
