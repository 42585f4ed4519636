"""Many hands: the processes that torchrun starts, and the threads of a CPU.

torchrun sets the environment, and restarts all of us when one has died. A CPU's cores share a step as machines would:
each thread takes its part of the batch through the whole model. Threads that divide every single operation wait for
each other after each of them; here they meet once a step. The replicas share their weights' memory and have gradients
of their own, which are added up in a fixed order, so a step gives the same bits every time.
"""

from __future__ import annotations

import copy
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

EVENTS = 40_960  # in flight over all threads: 8 GB at the paper's sizes
Forward = Callable[..., Any]


@dataclass(frozen=True)
class World:
    """This process among its peers; rank 0 is the one that writes."""

    rank: int
    size: int
    device: torch.device

    @property
    def writes(self) -> bool:
        return self.rank == 0

    def total(self, values: Sequence[float]) -> list[float]:
        """The sum over all processes, the same on each of them."""
        if self.size == 1:
            return list(values)
        dtype = torch.float64 if self.device.type == "cpu" else torch.float32
        tensor = torch.tensor(list(values), dtype=dtype, device=self.device)
        dist.all_reduce(tensor)
        total: list[float] = tensor.tolist()
        return total

    def first(self, work: Callable[[], None]) -> None:
        """Who writes does this while the others wait; where it fails they end too, and leave the word to him."""
        if self.writes:
            try:
                work()
            except BaseException:
                self.total([1.0])
                raise
        if self.total([0.0])[0]:
            raise SystemExit(2)

    def wait(self) -> None:
        """Until everybody is here."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def world() -> Iterator[World]:
    """Join the process group that torchrun describes, or be alone; nccl on GPUs, gloo elsewhere."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if size == 1:
        yield World(0, 1, device)
        return
    store, rank, size = next(rendezvous("env://"))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        # torchrun keeps one store over all restarts, and in it the addresses of the dead. On one node the restarts have
        # numbers to tell them apart; between nodes these may differ (docs/scale.md).
        store = PrefixStore(f"restart {restarts()}", store)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    try:
        yield World(rank, size, device)
    finally:
        dist.destroy_process_group()


def restarts() -> int:
    """How often torchrun has started all workers anew after one had died: the run goes on from its checkpoint."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def launch() -> str:
    """Which start of torchrun this process belongs to, the same over its restarts; empty without torchrun."""
    run = os.environ.get("TORCHELASTIC_RUN_ID")
    return f"{run} {socket.gethostname()} {os.getppid()}" if run else ""


def wrapped(objective: nn.Module, world: World, compiled: bool, every_weight: bool = True) -> Forward:
    """The objective as training calls it: compiled where that helps, then synchronised with the other processes."""
    # One kernel for all lengths: a resumed run meets the same one.
    forward: Any = torch.compile(objective, dynamic=True) if compiled else objective
    return DistributedDataParallel(forward, find_unused_parameters=not every_weight) if world.size > 1 else forward


def unsynchronised(forward: Forward) -> AbstractContextManager[None]:
    """Gradients of all but the last piece stay where they are."""
    return forward.no_sync() if isinstance(forward, DistributedDataParallel) else nullcontext()


class Replicas:
    """The objective as training calls it, and on a CPU as many more of it as there are threads."""

    def __init__(self, objective: nn.Module, forward: Forward, events_at_once: int) -> None:
        self.forwards, self._objectives, self._pool = [forward], [objective], None
        if forward is objective and next(objective.parameters()).device.type == "cpu":
            count = max(1, min(torch.get_num_threads(), EVENTS // events_at_once))
            threads = max(1, torch.get_num_threads() // count)
            self._objectives += [_alias(objective) for _ in range(count - 1)]
            self.forwards = list(self._objectives)
            self._pool = ThreadPoolExecutor(count, "replica", torch.set_num_threads, (threads,))

    def __len__(self) -> int:
        return len(self.forwards)

    def add_up(self, work: Callable[[Forward, int], Tensor]) -> Tensor:
        """The sum of `work(forward, number)` over all replicas, and of the gradients it leaves, in the first one's."""
        if self._pool is None:
            return work(self.forwards[0], 0)
        total = torch.stack(list(self._pool.map(work, self.forwards, range(len(self))))).sum(dim=0)
        first, *others = (list(objective.parameters()) for objective in self._objectives)
        for other in others:
            for parameter, alias in zip(first, other, strict=True):
                if alias.grad is not None:
                    parameter.grad = alias.grad if parameter.grad is None else parameter.grad.add_(alias.grad)
                    alias.grad = None
        return total


def _alias(objective: nn.Module) -> nn.Module:
    """The same weights, other gradients."""
    twin = copy.deepcopy(objective)
    for mine, its in zip(twin.parameters(), objective.parameters(), strict=True):
        mine.data = its.data
    return twin
