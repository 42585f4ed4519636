"""A CPU's cores share a step as machines would: each thread takes its part of the batch through the whole model.

Threads that divide every single operation wait for each other after each of them; here they meet once a step. The
replicas share their weights' memory and have gradients of their own, which are added up in a fixed order, so a step
gives the same bits every time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from stap.model.transformer import Transformer

EVENTS = 40_960  # in flight over all threads: 8 GB at the paper's sizes
Forward = Callable[..., Any]


class Replicas:
    """The model as training calls it, and on a CPU as many more of it as there are threads."""

    def __init__(self, model: Transformer, forward: Forward, events_at_once: int) -> None:
        self.forwards, self._models, self._pool = [forward], [model], None
        if forward is model and next(model.parameters()).device.type == "cpu":
            count = max(1, min(torch.get_num_threads(), EVENTS // events_at_once))
            threads = max(1, torch.get_num_threads() // count)
            self._models += [_alias(model) for _ in range(count - 1)]
            self.forwards = list(self._models)
            self._pool = ThreadPoolExecutor(count, "replica", torch.set_num_threads, (threads,))

    def __len__(self) -> int:
        return len(self.forwards)

    def add_up(self, work: Callable[[Forward, int], float]) -> float:
        """The sum of `work(forward, number)` over all replicas, and of the gradients it leaves, in the first one's."""
        if self._pool is None:
            return work(self.forwards[0], 0)
        total = sum(self._pool.map(work, self.forwards, range(len(self))))
        first, *others = (list(model.parameters()) for model in self._models)
        for other in others:
            for parameter, alias in zip(first, other, strict=True):
                if alias.grad is not None:
                    parameter.grad = alias.grad if parameter.grad is None else parameter.grad.add_(alias.grad)
                    alias.grad = None
        return total


def _alias(model: Transformer) -> Transformer:
    """The same weights, other gradients."""
    twin = copy.deepcopy(model)
    for mine, its in zip(twin.parameters(), model.parameters(), strict=True):
        mine.data = its.data
    return twin
