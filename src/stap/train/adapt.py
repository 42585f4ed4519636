"""Fine-tuning to one person, on their own machine: only the small parts move, and a held-back tail has to prove it.

The first part of the log is learned from. On the rest, which the adapted model never saw, both models are asked the
same questions; unless the adapted one is better by more than chance, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file
from torch import Tensor, nn

from stap.errors import BadInput
from stap.events import Corpus
from stap.model import weights
from stap.model.transformer import Transformer
from stap.train.fused import answers
from stap.train.recipe import Recipe
from stap.train.tables import Table, Window, collate, tabulate, windows

LEARNED = 0.7  # of the log; the tail is what remains
LEAST = 400  # usages that are worth the attempt
STEPS = 60  # more, or larger ones, learn the log and not the person
WINDOWS = 4  # a step
RATE = 5e-4
PULL = 0.1  # towards the weights it came from, a step
SURE = 2.0  # standard errors that the tail's loss has to fall by

Show = Callable[[int], None]  # called with the number of steps just done


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
    """Every norm, and of the evidence head what weighs evidence: a fifth of the shipped model.

    Not its input to the transformer, and not how candidates are compared: one person's log is too short for that.
    """
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if name.endswith("norm.weight")
        or (name.startswith("evidence.") and not name.startswith(("evidence.embed", "evidence.compare")))
    }


def adapt(path: Path, corpus: Corpus, out: Path, where: str, show: Show = lambda _: None) -> Proof:
    """Adapt the model in a file to the one person of a corpus; `out` is written only where that helps."""
    if len(corpus.users) > 1:
        raise BadInput(where, f"{len(corpus.users)} users in it", "choose one with --user")
    (log,) = corpus.everybody()
    if len(log.app) < LEAST:
        raise BadInput(where, f"{len(log.app)} usages are too few to learn a person from", f"log {LEAST} or more")
    torch.set_num_threads(1)  # with so little to do at once a second one only waits
    model = weights.load(path)
    if model.evidence is None:
        raise BadInput(str(path), "a model without an evidence head has no small parts to adapt", "use the shipped one")
    recipe = Recipe(model=model.config)
    table = tabulate(log, np.random.default_rng(0))
    cut = round(LEARNED * len(table))
    before = _tail(model, table, cut, recipe)
    _learn(model, table, cut, recipe, show)
    proof = _compare(before, _tail(model, table, cut, recipe))
    if proof.helps:
        stored = load_file(path)
        stored.update({name: parameter.detach() for name, parameter in small_parts(model).items()})
        weights.write(stored, {"format": weights.MODEL, "config": model.config.to_json()}, out)
    return proof


def _learn(model: Transformer, table: Table, cut: int, recipe: Recipe, show: Show) -> None:
    parts = small_parts(model)
    start = {name: parameter.detach().clone() for name, parameter in parts.items()}
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for parameter in parts.values():
        parameter.requires_grad_(True)
    optimiser = torch.optim.AdamW(parts.values(), lr=RATE, weight_decay=0.0)
    rng = np.random.default_rng(1)
    waiting: list[Window] = []
    past = _first(table, cut)
    model.train()
    for _ in range(STEPS):
        if len(waiting) < WINDOWS:
            waiting += windows([past], recipe.usages, rng)
        chosen, waiting = waiting[:WINDOWS], waiting[WINDOWS:]
        loss = answers(model, collate(chosen, recipe.model.vocabulary, rng), recipe).loss()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(parts.values(), recipe.clip)
        optimiser.step()
        with torch.no_grad():
            for name, parameter in parts.items():
                parameter.lerp_(start[name], PULL)
        show(1)
    model.eval()


def _first(table: Table, cut: int) -> Table:
    arrays: dict[str, Any] = {name: value[:cut] for name, value in vars(table).items() if isinstance(value, np.ndarray)}
    return replace(table, **arrays)


@torch.no_grad()
def _tail(model: Transformer, table: Table, cut: int, recipe: Recipe) -> tuple[Tensor, Tensor]:
    """(loss, whether the first guess was right) at every position of the tail; each sees half a window or more."""
    model.eval()
    half = recipe.usages // 2
    losses, hits = [], []
    for first in range(cut, len(table), half):
        low, high = max(0, first - half), min(first + half, len(table))
        asked = np.where(np.arange(len(table)) >= first, table.answer, -1)
        window = (replace(table, answer=asked), low, high)
        found = answers(model, collate([window], recipe.model.vocabulary, np.random.default_rng(0)), recipe)
        losses.append(F.cross_entropy(found.scores, found.answer, reduction="none"))
        hits.append((found.scores[:, :-1].argmax(dim=1) == found.answer).float())
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
