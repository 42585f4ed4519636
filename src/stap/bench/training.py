"""`stap bench training`: events/s of the training loop at the paper's sizes, beside a plain eager fp32 loop.

Two workloads. Full windows: only kernels can gain. People's windows: as logs have them, many shorter than L; the plain
loop pads them all to L, as the paper describes, ours trims. Their lengths are invented: log-normal with the mean that
LSApp publishes (599,635 usages of 292 users), about 73 % of them below 4096 events ("most", says the paper).

Two peers, both eager and fp32. The plain loop has attention as the formula has it, a softmax of the L x L matrix. The
fused loop calls torch's fused attention kernel instead: the strongest peer there is.

Every loop is a process of its own, as it would be run, with all threads torch takes by itself; they take turns, step by
step, so that what else the machine does meets all of them. Time is the clock's: run it on an idle machine.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stap.events import Corpus, Longs
from stap.model import attention
from stap.model.config import ModelConfig
from stap.model.score import summed_loss, to_tensors
from stap.model.transformer import Attention, Transformer
from stap.phi import draw
from stap.train.config import TrainConfig
from stap.train.parallel import World
from stap.train.run import open_run
from stap.train.tasks.paper import PaperEpoch
from stap.verdict import Figure, publish
from stap.windows import cut, encode

ROUNDS = 2
FULL, TOKENS = 8_192, 16_384  # events in a step of the plain loop, padding included: of full windows, of people's
AT_ONCE = 4_096  # events in a forward pass of theirs
LONGEST = 16_384  # the longest context of the paper's sweep
ALONE = World(0, 1, torch.device("cpu"))
OURS, PLAIN, FUSED = "stap train", "plain eager loop", "the same with fused attention"
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Step = Callable[[], int]  # one optimiser step; gives the events in it, padding not counted


def _sample(corpus: Corpus, settings: TrainConfig) -> PaperEpoch:
    """One batch that stands for all: windows at even steps of the sorted lengths."""
    windows = cut(corpus, settings.model.context)
    count = settings.tokens_per_batch // windows.context
    longest_first: Longs = np.argsort(-windows.usages, kind="stable")
    which: Longs = longest_first[((np.arange(count) + 0.5) / count * len(windows)).astype(int)]
    return PaperEpoch(settings, 0, corpus, windows, which)


def run() -> dict[str, Any]:
    peak = _matmul_peak()
    figures = [Figure(f"matmul peak, fp32, {torch.get_num_threads()} threads", peak / 1e9, "GFLOP/s")]
    for context in (512, 4096):
        for name in ("full", "people's"):
            full, label = name == "full", f"L = {context}, {name} windows"
            rates = _rates(context, full)
            if not full:
                padding = _padding(_people(), context)
                figures.append(Figure(f"{label}: padding", padding, "% of the plain loop's events"))
            figures += [Figure(f"{label}: {who}", median(found), "events/s") for who, found in rates.items()]
            for peer, what in ((PLAIN, "ratio to the plain loop"), (FUSED, "ratio with fused attention")):
                ratio = _ratio(rates, peer)
                figures.append(Figure(f"{label}: {what}", ratio, "x", "at least 1.5 x", ratio >= 1.5))
            if full:
                used = 100 * median(rates[OURS]) * ModelConfig().flops_per_event(context) / peak
                figures.append(Figure(f"{label}: model FLOPs utilisation", used, "% of the peak"))
    gigabytes = _memory(LONGEST)
    figures.append(Figure(f"L = {LONGEST}: peak memory of a step", gigabytes, "GB", "at most 12 GB", gigabytes <= 12))
    return publish(f"training at the paper's sizes, median of {ROUNDS} rounds in turn", figures)


def _matmul_peak() -> float:
    """FLOP/s of a large square product: what this machine can do at best."""
    square, best = torch.randn(2048, 2048), float("inf")
    for _ in range(10):
        begin = perf_counter()
        square @ square
        best = min(best, perf_counter() - begin)
    return float(2 * 2048**3 / best)


def _padding(corpus: Corpus, context: int) -> float:
    windows = cut(corpus, context)
    return float(100 - 200 * windows.usages.sum() / (len(windows) * context))


def _full(context: int) -> Corpus:
    return _corpus(np.full(2 * TOKENS // context, context // 2))


def _people() -> Corpus:
    return _corpus(np.random.default_rng(0).lognormal(np.log(2053) - 0.72, 1.2, 64).astype(int) + 2)


def _corpus(sizes: Longs) -> Corpus:
    rng = np.random.default_rng(1)
    start = 2.7e7 + np.cumsum(rng.exponential(20, int(sizes.sum())))
    return Corpus(
        users=tuple(f"u{n}" for n in range(len(sizes))),
        apps=(tuple(f"app {n}" for n in range(50)),) * len(sizes),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        app=rng.integers(0, 50, len(start)).astype(np.int32),
        start=start,
        end=start + 1,
    )


def _rates(context: int, full: bool) -> dict[str, list[float]]:
    """Events/s of every loop on the same windows, step after step in turn."""
    rates: dict[str, list[float]] = {}
    with ExitStack() as stack:
        steps = {who: stack.enter_context(_Loop(who, context, full)) for who in (PLAIN, FUSED, OURS)}
        for turn in range(ROUNDS + 1):
            for who, step in steps.items():
                rate = step()
                if turn:  # the first step touches all memory
                    rates.setdefault(who, []).append(rate)
    return rates


class _Loop:
    """A training loop in a process of its own: every call is a step, and gives its events/s."""

    def __init__(self, who: str, context: int, full: bool) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._here, there = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(there, who, context, full), daemon=True)

    def __enter__(self) -> _Loop:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._here.send(False)
        self._process.join()

    def __call__(self) -> float:
        self._here.send(True)
        while not self._here.poll(1.0):
            if not self._process.is_alive():
                raise RuntimeError("a training loop has died; see above")
        return float(self._here.recv())


def _serve(there: Connection, who: str, context: int, full: bool) -> None:
    corpus = _full(context) if full else _people()
    settings = TrainConfig(model=ModelConfig(context=context), tokens_per_batch=FULL if full else TOKENS)
    with tempfile.TemporaryDirectory() as folder:
        if who == OURS:
            step = _ours(corpus, settings, Path(folder))
        else:
            step = _plain(corpus, settings, _textbook if who == PLAIN else attention.whole)
        while there.recv():
            begin = perf_counter()
            events = step()
            there.send(events / (perf_counter() - begin))


def _ratio(rates: dict[str, list[float]], peer: str) -> float:
    """Of neighbouring steps, the median."""
    return median(ours / theirs for ours, theirs in zip(rates[OURS], rates[peer], strict=True))


def _textbook(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = query @ key.transpose(2, 3) / query.shape[3] ** 0.5
    future = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
    weights: Tensor = scores.masked_fill(future, float("-inf")).softmax(3)
    return weights @ value


def _plain(corpus: Corpus, settings: TrainConfig, attend: Attend) -> Step:
    """What one writes first: the same model, eager, fp32, every window padded to L."""
    epoch, model = _sample(corpus, settings), Transformer(settings.model)
    for module in model.modules():
        if isinstance(module, Attention):
            module.attend = attend
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate)
    windows, which = epoch.windows, epoch.batch(0)
    size = AT_ONCE // settings.model.context

    def step() -> int:
        for low in range(0, len(which), size):
            piece = which[low : low + size]
            batch = encode(corpus, windows, piece, draw(0, 0, piece, settings.model.vocabulary))
            inputs, label = to_tensors(batch)
            torch.autograd.backward(summed_loss(model(*inputs), label) / epoch.labels(which))
        optimiser.step()
        optimiser.zero_grad()
        return 2 * int(windows.usages[which].sum())

    return step


def _ours(corpus: Corpus, settings: TrainConfig, folder: Path) -> Step:
    """A step of `stap train`, on the same windows."""
    run = open_run(corpus, replace(settings, split=(1, 1)), folder, "bench", "new", ALONE)
    epoch = _sample(corpus, settings)
    return lambda: run.trainer.step(epoch, 0, 0)[2]


def _memory(context: int) -> float:
    """Peak GB of a process that trains one step on full windows, one for each of two replicas."""
    program = f"from stap.bench import training; training.one_step({context})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


def one_step(context: int) -> None:
    """Train on two windows of this length; print this process's peak memory in GB."""
    import resource

    config = TrainConfig(model=ModelConfig(context=context), tokens_per_batch=2 * context, tokens_at_once=context)
    with tempfile.TemporaryDirectory() as folder:
        _ours(_corpus(np.array([context // 2, context // 2])), config, Path(folder))()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
