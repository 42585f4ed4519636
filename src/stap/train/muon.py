"""Muon: every matrix takes a step that is equally long in all directions.

As `torch.optim.Muon`, but in float32: that one computes in bfloat16, which a processor without such instructions does
many times slower (`stap bench muon`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import Optimizer

MOMENTUM = 0.95
ROUNDS = 5
QUINTIC = (3.4445, -4.7750, 2.0315)  # steepest at zero: singular values end between 0.7 and 1.2, which is near enough


class Muon(Optimizer):
    def __init__(self, matrices: Iterable[Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override] # the gradients are there already
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._move(matrix, matrix.grad, group["lr"], group["weight_decay"])

    def _move(self, matrix: Parameter, gradient: Tensor, rate: float, decay: float) -> None:
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        momentum: Tensor = state["momentum_buffer"].lerp_(gradient, 1.0 - MOMENTUM)
        rows, columns = matrix.shape
        matrix.mul_(1.0 - rate * decay)
        matrix.add_(orthogonal(gradient.lerp(momentum, MOMENTUM)), alpha=-rate * math.sqrt(max(1.0, rows / columns)))


def orthogonal(matrix: Tensor) -> Tensor:
    """U V^T of the matrix U S V^T, roughly, by Newton and Schulz's iteration."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=1e-7)
    a, b, c = QUINTIC
    for _ in range(ROUNDS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
