"""One process or many: who am I, what do all of us sum to. torchrun sets the environment, and restarts us."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous


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
        store = PrefixStore(f"restart {_restarts()}", store)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    try:
        yield World(rank, size, device)
    finally:
        dist.destroy_process_group()


def restarted() -> bool:
    """torchrun starts all workers anew after one has died: then the run goes on from its checkpoint."""
    return _restarts() > 0


def launch() -> str:
    """Which start of torchrun this process belongs to, the same over its restarts; empty without torchrun."""
    run = os.environ.get("TORCHELASTIC_RUN_ID")
    return f"{run} {socket.gethostname()} {os.getppid()}" if run else ""


def _restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
