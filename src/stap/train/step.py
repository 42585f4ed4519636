"""One optimiser step: its rate, its gradient over all pieces, threads and processes, the clip, the average."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from stap.train import optimisers
from stap.train.config import TrainConfig
from stap.train.optimisers import Model
from stap.train.parallel import Forward, Replicas, World, unsynchronised
from stap.train.tasks.base import Epoch
from stap.windows import pieces


@dataclass(frozen=True)
class Trainer:
    """What a step moves, and how."""

    settings: TrainConfig
    world: World
    model: Model
    replicas: Replicas
    moving: Sequence[Optimizer]
    average: dict[str, Tensor]  # of the weights; empty where none is kept
    steps: int  # in all
    sums: tuple[str, ...]  # what the objective gives

    def step(self, epoch: Epoch, number: int, done: int) -> tuple[dict[str, float], int, int]:
        """Step `number` of an epoch, the `done`-th of the run (from 0); gives the sums, labels and events of its batch.

        The gradient is that of (sum of losses) / (labels of all processes), so it is the same however the batch is
        shared.
        """
        settings, here = self.settings, self.world
        batch = epoch.batch(number)
        labels = epoch.labels(batch)
        parts = here.size * len(self.replicas)
        optimisers.set_rate(self.moving, learning_rate(settings, done, self.steps), settings)

        def work(forward: Forward, replica: int) -> Tensor:
            """A replica's part of the batch, forward and backward: its sums."""
            part = here.rank * len(self.replicas) + replica
            share, weight = pieces(epoch.windows, batch, part, parts, settings.tokens_at_once), 1.0
            if not share and here.size > 1:  # a process without windows still joins in
                share, weight = [batch[:1]], 0.0
            total = torch.zeros(len(self.sums), dtype=torch.float64)
            for piece in share:
                inputs = (tensor.to(here.device, non_blocking=True) for tensor in epoch.tensors(piece))
                with nullcontext() if piece is share[-1] else unsynchronised(forward):
                    with autocast(settings, here.device):
                        sums = forward(*inputs) * weight
                    torch.autograd.backward(sums[0] * (here.size / max(1, labels)))  # processes take the mean
                total = total + sums.detach().double().cpu()
            return total

        sums = self.replicas.add_up(work)
        if settings.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        for optimiser in self.moving:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self._average(done)
        return dict(zip(self.sums, here.total(sums.tolist()), strict=True)), labels, epoch.events(batch)

    @torch.no_grad()
    def _average(self, done: int) -> None:
        left = min(self.settings.average, (done + 1) / (done + 10))
        weights = self.model.state_dict()
        for name, average in self.average.items():
            average.mul_(left).add_(weights[name], alpha=1.0 - left)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Meanwhile the model's weights are their average, where one is kept."""
        own = {name: tensor.clone() for name, tensor in self.model.state_dict().items() if name in self.average}
        self.model.load_state_dict(self.average, strict=False)
        try:
            yield
        finally:
            self.model.load_state_dict(own, strict=False)


def learning_rate(settings: TrainConfig, step: int, total: int) -> float:
    """Of step 0, 1, ...: a linear warm-up, then constant or down a cosine; half for what was trained before."""
    rate = settings.learning_rate * (0.5 if settings.start and not settings.model.launches else 1.0)
    rate *= min(1.0, (step + 1) / settings.warmup_steps) if settings.warmup_steps else 1.0
    if settings.decay == "none":
        return rate
    begin = {"cosine after warm-up": settings.warmup_steps, "at the end": round(0.75 * total)}.get(settings.decay, 0)
    past = min(1.0, max(0, step - begin) / max(1, total - begin))
    return rate * (settings.decay_to + (1.0 - settings.decay_to) * 0.5 * (1.0 + math.cos(math.pi * past)))


def bf16_helps(device: torch.device) -> bool:
    """Only where the hardware multiplies bf16: elsewhere it is emulated, at a fraction of fp32's speed."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def autocast(settings: TrainConfig, device: torch.device) -> torch.autocast | nullcontext[None]:
    bf16 = settings.precision == "bf16" or (settings.precision == "auto" and bf16_helps(device))
    return torch.autocast(device.type, torch.bfloat16) if bf16 else nullcontext()
