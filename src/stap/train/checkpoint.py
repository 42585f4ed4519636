"""last.safetensors: weights, optimiser state and progress in ONE file, so that no kill tears them apart. No pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import Optimizer

from stap.errors import BadInput
from stap.model import weights
from stap.train.optimisers import Model

MEMORY = {"AdamW": ("exp_avg", "exp_avg_sq"), "Muon": ("momentum_buffer",)}  # a tensor each for every weight it moves
AVERAGE = "average"
MOST = 1e15  # of anything that a run counts or sums
_REMEDY = "start anew in another folder"


@dataclass
class Progress:
    """Where a run is. With the weights, what the optimisers remember and the config, all that it needs to go on."""

    data: str  # fingerprint of the corpus
    epoch: int = 0  # epochs done
    step: int = 0  # steps done in this epoch
    steps: int = 0  # optimiser steps done in all
    sums: dict[str, float] = field(default_factory=dict)  # what the objective gave in this epoch so far
    labels: int = 0  # in this epoch so far
    events: int = 0  # trained on in all, padding not counted
    seconds: float = 0.0  # of training, over all restarts
    best_loss: float = float("inf")
    best_epoch: int = 0

    def check(self) -> None:
        """ValueError unless everything has its type and can be."""
        kinds = {one.name: str(one.type) for one in fields(self)}
        values = {name: getattr(self, name) for name in kinds}
        if type(self.sums) is not dict:
            raise ValueError("sums")
        del values["sums"]
        for name, value in (*values.items(), *self.sums.items()):
            kind = kinds.get(name, "float")
            if type(value).__name__ != kind and not (kind == "float" and type(value) is int):
                raise ValueError(name)
            if kind != "str" and not (0 <= value <= MOST or (name == "best_loss" and value == float("inf"))):
                raise ValueError(name)
        if self.step > self.steps or self.best_epoch > self.epoch:
            raise ValueError("more done in one epoch than in all")


def save(
    path: Path, model: Model, optimisers: Sequence[Optimizer], progress: Progress, average: Mapping[str, Tensor]
) -> None:
    """`average`: the mean of the weights over the last steps; empty where a run keeps none."""
    progress_text = json.dumps(asdict(progress))
    metadata = {"format": weights.CHECKPOINT, "config": model.config.to_json(), "progress": progress_text}
    weights.write(_tensors(model, optimisers, average), metadata, path)


def load(path: Path, model: Model, optimisers: Sequence[Optimizer], data: str, average: dict[str, Tensor]) -> Progress:
    """Put everything back in place, after checking that it belongs to this model and this data."""
    where = str(path)
    header = weights.read_header(path)
    if header.metadata.get("format") != weights.CHECKPOINT or header.metadata.get("config") != model.config.to_json():
        raise BadInput(where, "not a checkpoint of this run", _REMEDY)
    expected = _tensors(model, optimisers, average)
    weights.check(header, {name: tuple(tensor.shape) for name, tensor in expected.items()}, where)
    try:
        progress = Progress(**json.loads(header.metadata["progress"]))
        progress.check()
    except (KeyError, TypeError, ValueError, RecursionError):
        raise BadInput(where, "its progress is damaged", _REMEDY) from None
    if progress.data != data:
        raise BadInput(where, "the run was started on other data", f"give the same logs, or {_REMEDY}")
    tensors = {name: torch.from_numpy(array) for name, array in weights.stored(path).items()}
    model.load_state_dict({name: tensors[name] for name in model.state_dict()})
    average.update({name: tensors[f"{AVERAGE}.{name}"].to(mean.device) for name, mean in average.items()})
    if progress.steps:
        for name, parameter, optimiser in _moved(model, optimisers):
            device, kind = parameter.device, type(optimiser).__name__
            state = {kept: tensors[f"{kept}.{name}"].to(device) for kept in MEMORY[kind]}
            if kind == "AdamW":
                state["step"] = torch.tensor(float(progress.steps), device=device)
            optimiser.state[parameter] = state
    return progress


def _tensors(model: Model, optimisers: Sequence[Optimizer], average: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All that a checkpoint holds; what an optimiser does not remember yet is 0."""
    tensors: dict[str, Tensor] = dict(model.state_dict())
    tensors |= {f"{AVERAGE}.{name}": tensor for name, tensor in average.items()}
    for name, parameter, optimiser in _moved(model, optimisers):
        for kept in MEMORY[type(optimiser).__name__]:
            tensors[f"{kept}.{name}"] = optimiser.state.get(parameter, {}).get(kept, torch.zeros_like(parameter))
    return tensors


def _moved(model: Model, optimisers: Sequence[Optimizer]) -> Iterator[tuple[str, Parameter, Optimizer]]:
    """Every weight with the optimiser that moves it."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                yield names[id(parameter)], parameter, optimiser
