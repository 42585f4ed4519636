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

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stap.bench.invented import alone, corpus
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
APPS = 50
ALONE = World(0, 1, torch.device("cpu"))
OURS, PLAIN, FUSED = "stap train", "plain eager loop", "the same with fused attention"
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Step = Callable[[], int]  # one optimiser step; gives the events in it, padding not counted


_step: Step  # of the loop that this process is for


def run() -> dict[str, Any]:
    peak = _matmul_peak()
    figures = [Figure(f"matmul peak, fp32, {torch.get_num_threads()} threads", peak / 1e9, "GFLOP/s")]
    for context in (512, 4096):
        for full, kind in ((True, "full"), (False, "people's")):
            label = f"L = {context}, {kind} windows"
            rates = _rates(context, full)
            if not full:
                windows = cut(_people(context, full), context)
                padding = 100 - 200 * float(windows.usages.sum()) / (len(windows) * context)
                figures.append(Figure(f"{label}: padding", padding, "% of the plain loop's events"))
            figures += [Figure(f"{label}: {who}", median(found), "events/s") for who, found in rates.items()]
            for peer, what in ((PLAIN, "ratio to the plain loop"), (FUSED, "ratio with fused attention")):
                ratio = median(ours / theirs for ours, theirs in zip(rates[OURS], rates[peer], strict=True))
                figures.append(Figure.at_least(f"{label}: {what}", ratio, "x", 1.5))
            if full:
                used = 100 * median(rates[OURS]) * ModelConfig().flops_per_event(context) / peak
                figures.append(Figure(f"{label}: model FLOPs utilisation", used, "% of the peak"))
    _, megabytes, _ = alone("from stap.bench import training", f"training.one_step({LONGEST})")
    figures.append(Figure.at_most(f"L = {LONGEST}: peak memory of a step", megabytes / 1e3, "GB", 12))
    return publish(f"training at the paper's sizes, median of {ROUNDS} rounds in turn", figures)


def _matmul_peak() -> float:
    """FLOP/s of a large square product: what this machine can do at best."""
    square, best = torch.randn(2048, 2048), float("inf")
    for _ in range(10):
        begin = perf_counter()
        square @ square
        best = min(best, perf_counter() - begin)
    return float(2 * 2048**3 / best)


def _people(context: int, full: bool) -> Corpus:
    if full:
        return corpus(np.full(2 * TOKENS // context, context // 2), APPS)
    return corpus(np.random.default_rng(0).lognormal(np.log(2053) - 0.72, 1.2, 64).astype(int) + 2, APPS)


def _rates(context: int, full: bool) -> dict[str, list[float]]:
    """Events/s of every loop on the same windows, step after step in turn, each in a process of its own."""
    rates: dict[str, list[float]] = {who: [] for who in (PLAIN, FUSED, OURS)}
    with ExitStack() as stack:
        loops = {
            who: stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"), _prepare, (who, context, full)))
            for who in rates
        }
        for turn in range(ROUNDS + 1):
            for who, loop in loops.items():
                rate = loop.submit(_timed_step).result()
                if turn:  # the first step touches all memory
                    rates[who].append(rate)
    return rates


def _prepare(who: str, context: int, full: bool) -> None:
    global _step
    settings = TrainConfig(model=ModelConfig(context=context), tokens_per_batch=FULL if full else TOKENS)
    epoch = _sample(_people(context, full), settings)
    _step = _ours(epoch) if who == OURS else _plain(epoch, _textbook if who == PLAIN else attention.whole)


def _timed_step() -> float:
    begin = perf_counter()
    events = _step()
    return events / (perf_counter() - begin)


def _sample(people: Corpus, settings: TrainConfig) -> PaperEpoch:
    """One batch that stands for all: windows at even steps of the sorted lengths."""
    windows = cut(people, settings.model.context)
    count = settings.tokens_per_batch // windows.context
    longest_first: Longs = np.argsort(-windows.usages, kind="stable")
    which: Longs = longest_first[((np.arange(count) + 0.5) / count * len(windows)).astype(int)]
    return PaperEpoch(settings, 0, people, windows, which)


def _textbook(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = query @ key.transpose(2, 3) / query.shape[3] ** 0.5
    future = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
    weights: Tensor = scores.masked_fill(future, float("-inf")).softmax(3)
    return weights @ value


def _plain(epoch: PaperEpoch, attend: Attend) -> Step:
    """What one writes first: the same model, eager, fp32, every window padded to L."""
    sizes = epoch.settings.model
    model = Transformer(sizes)
    for module in model.modules():
        if isinstance(module, Attention):
            module.attend = attend
    optimiser = torch.optim.AdamW(model.parameters(), lr=epoch.settings.learning_rate)
    which = epoch.batch(0)
    at_once = AT_ONCE // sizes.context

    def step() -> int:
        for low in range(0, len(which), at_once):
            piece = which[low : low + at_once]
            batch = encode(epoch.corpus, epoch.windows, piece, draw(0, 0, piece, sizes.vocabulary))
            inputs, label = to_tensors(batch)
            torch.autograd.backward(summed_loss(model(*inputs), label) / epoch.labels(which))
        optimiser.step()
        optimiser.zero_grad()
        return epoch.events(which)

    return step


def _ours(epoch: PaperEpoch) -> Step:
    """A step of `stap train`, on the same windows."""
    settings = replace(epoch.settings, split=(1, 1))
    with tempfile.TemporaryDirectory() as folder:
        run = open_run(epoch.corpus, settings, Path(folder), "bench", "new", ALONE)
    return lambda: run.trainer.step(epoch, 0, 0)[2]


def one_step(context: int) -> None:
    """Train on two windows of this length, one for each of two replicas."""
    config = TrainConfig(model=ModelConfig(context=context), tokens_per_batch=2 * context, tokens_at_once=context)
    _ours(_sample(corpus(np.full(2, context // 2), APPS), config))()
