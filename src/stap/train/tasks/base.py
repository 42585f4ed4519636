"""What a task is: it gives people, batches and a loss; everything else is the trainer's (run, step)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from stap.errors import BadInput
from stap.events import Corpus, Longs
from stap.model import weights
from stap.model.transformer import Transformer
from stap.train.config import TrainConfig
from stap.train.parallel import World
from stap.train.people import People
from stap.windows import Windows


@dataclass(frozen=True)
class Epoch(ABC):
    """Some people's windows, dealt out step by step in a random order. Follows from (seed, number) alone."""

    settings: TrainConfig
    number: int
    corpus: Corpus
    windows: Windows
    order: Longs  # (windows,)

    def __len__(self) -> int:
        """Steps."""
        return -(-len(self.order) // self.size)

    @property
    def size(self) -> int:
        """Windows in a step: as many events at any context."""
        return self.settings.tokens_per_batch // self.windows.context

    def batch(self, step: int) -> Longs:
        """The windows of the whole step, on all processes together; longest first."""
        which = self.order[step * self.size : (step + 1) * self.size]
        return which[np.argsort(-self.windows.usages[which], kind="stable")]

    def events(self, which: Longs) -> int:
        return 2 * int(self.windows.usages[which].sum())

    @abstractmethod
    def labels(self, which: Longs) -> int:
        """How many losses the objective will sum for these windows."""

    @abstractmethod
    def tensors(self, which: Longs) -> tuple[Tensor, ...]:
        """These windows encoded, with this epoch's phi, no longer than the longest of them needs."""


def fresh(settings: TrainConfig) -> Transformer:
    """A new model, from the seed."""
    torch.manual_seed(settings.seed)
    model = Transformer(settings.model)
    with torch.no_grad():
        if settings.zero_outputs:
            for name, parameter in model.named_parameters():
                if name.endswith(("attention.out.weight", "feedforward.down.weight")):
                    parameter.zero_()
        if settings.model.tied_apps:
            _copies(model)
    return model


def _copies(model: Transformer) -> None:
    """From the first step on, every layer passes on the apps it looks at, and the head names them, all but the current.

    Apps are as far from each other as V vectors can be, and as long as what comes with them (action, hour); the maps
    that take them in, on and out again begin as multiples of the identity. Those on and out are negative: what an event
    says of its own app stays positive inside, so it comes out as "not this one", and what was passed on as "this one".
    The next app is never the current one; a head that names that first has to unlearn it.
    """
    d, one = model.config.dim, torch.eye(model.config.dim)
    nn.init.orthogonal_(model.embed_app.weight)
    model.embed_app.weight.mul_(d**0.5 / 3 / model.embed_app.weight.norm(dim=1).mean())
    model.fuse.weight[:, :d] = one
    for name, parameter in model.named_parameters():
        if name.endswith("attention.qkv.weight"):
            parameter[2 * d :] = one
        elif name.endswith("attention.out.weight"):
            parameter.copy_(-one / model.config.layers)
    model.head.weight.copy_(-0.3 * one)
    if (
        model.pointing is not None
    ):  # speaks alone at first, of nothing but the apps: what blocks and head add is learned
        for name, parameter in model.named_parameters():
            if name.endswith(("attention.out.weight", "head.weight")):
                parameter.zero_()


def started(settings: TrainConfig) -> Transformer | None:
    """The model that a run goes on from, if it names one; where a launch head is trained, with a fresh one."""
    if not settings.start:
        return None
    path, launches = Path(settings.start), settings.model.launches
    if replace(weights.read_config(path), launches=launches) != settings.model:
        raise BadInput(settings.start, "a model of other sizes", "start from a run of the same settings")
    model = fresh(settings)
    kept = {name: tensor for name, tensor in weights.load(path).state_dict().items() if not name.startswith("launch.")}
    model.load_state_dict(kept, strict=False)
    return model


M = TypeVar("M", bound=nn.Module)


class Task(ABC, Generic[M]):
    """One kind of training of one kind of model on given people."""

    sums: ClassVar[tuple[str, ...]]  # what the objective sums up, the loss first
    result: ClassVar[str]  # the model's file in the run's folder
    chooses: ClassVar[bool] = False  # whether validation decides which weights are the model; or it only watches
    people: People
    steps: int  # in all

    @abstractmethod
    def build(self) -> M:
        """A model to begin with."""

    @abstractmethod
    def objective(self, model: M) -> nn.Module:
        """The model as training calls it: an epoch's tensors in, `sums` over their labels out."""

    @abstractmethod
    def epoch(self, number: int, begun: int) -> Epoch:
        """Epoch 0, 1, ..., which began after so many steps; no longer than the run needs it."""

    def training(self, sums: Mapping[str, float], labels: int) -> dict[str, Any]:
        """What the log says of an epoch: the sums as means."""
        return {"loss": sums["loss"] / labels}

    def validate(self, model: M, world: World) -> dict[str, float]:
        """Loss and metrics on people who do not train; empty where nobody validates."""
        return {}

    def finish(self, model: M) -> None:
        """The last touch before a model is written."""

    @abstractmethod
    def save(self, model: M, path: Path) -> None:
        """Write the model beside and rename."""


class OfTransformer(Task[Transformer]):
    """A task whose model is the Transformer."""

    def save(self, model: Transformer, path: Path) -> None:
        weights.save(model, path)
