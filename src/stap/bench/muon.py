"""`stap bench muon`: a step of Muon over the shipped model's matrices, beside `torch.optim.Muon`, on one core."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch.nn import Parameter
from torch.optim import Muon as Peer
from torch.optim import Optimizer

from stap.model.transformer import Transformer
from stap.train import optimisers
from stap.train.muon import Muon
from stap.train.presets import preset
from stap.verdict import Figure, publish

ROUNDS = 11


def seconds(optimiser: Optimizer) -> float:
    begin = perf_counter()
    optimiser.step()
    return perf_counter() - begin


def run() -> dict[str, Any]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shipped = preset("shipped")
    matrices: list[Parameter] = optimisers.build(Transformer(shipped.model), shipped)[1].param_groups[0]["params"]
    for matrix in matrices:
        matrix.grad = torch.randn_like(matrix)
    ours, theirs = Muon(matrices, 1e-3, 0.1), Peer(matrices, lr=1e-3)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]  # in turn, so that a noisy moment hits both
    return publish(
        f"a step of Muon, {len(matrices)} matrices, median of {ROUNDS}",
        [
            Figure("stap.train.muon (float32)", 1e3 * median(mine for mine, _ in pairs), "ms"),
            Figure("torch.optim.Muon (bfloat16)", 1e3 * median(its for _, its in pairs), "ms"),
            Figure("ratio", median(its / mine for mine, its in pairs), "x"),
        ],
    )
