"""`stap bench latency`: observe + rank at the paper's sizes, beside the paper's engine, PyTorch and onnxruntime.

Every timing is CPU time of the one thread that works, so that a busy machine changes it little; weights are random. The
engine goes through all 10,000 events. At 600 of them, evenly spaced, it waits for its peers, which are timed there in
turn, each with a cache of the length it has there: so all see the same machine, and all are compared at these events.
What comes right after others' work is slower, since they have emptied the processor's caches: a peer's first call, the
engine's events between two such places and the first reading of the bound warm up. Needs the extras train and onnx.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import onnxruntime
import torch

from stap import _engine
from stap.bench.invented import Timed, alone, events, megabytes
from stap.describe.canvas import drawing
from stap.engine import STRATEGIES, EngineModel, EnginePredictor, Settings
from stap.events import Event, Floats, Longs
from stap.model import onnx, weights
from stap.model.config import ModelConfig
from stap.model.transformer import Cache, Transformer
from stap.verdict import Figure, publish

EVENTS, SAMPLES = 10_000, 600
HELP_EVERY = 16  # events, after which nobody waits for a moment
LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384)
PEERS = {"scalar fp32, the paper's engine": 10, "PyTorch": 5, "onnxruntime": 3}  # at least so many times slower
MOST_MB = 80
FIGURE = Path("latency.png")

# A session with both caches as full as they get: L and L/2 events.
SETUP = """
from stap.bench.invented import events
from stap.engine import EngineModel
history = events(4 * 2048)
"""
FILL = """
predictor = EngineModel(sys.argv[1], "int8").predictor()
for event in history:
    predictor.observe(event)
predictor.rank(5)
predictor.catch_up(10000)
"""


def run() -> dict[str, Any]:
    config = ModelConfig()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper.safetensors"
        weights.save(Transformer(config), path)
        history, model = events(EVENTS + 1), EngineModel(path, "int8")
        figures = _beside_peers(path, model, config, history)
        report = publish(f"observe + rank, paper's sizes, L = {config.context}, one thread, CPU time", figures)
        return report | {"lengths": _lengths(model), "strategies": _strategies(model, history), "figure": str(FIGURE)}


def _beside_peers(path: Path, model: EngineModel, config: ModelConfig, history: list[Event]) -> list[Figure]:
    step, half = np.arange(EVENTS), config.context // 2
    held = np.where(step < half, step, half + step % half) + 1  # events in ISWI's predicting cache, at every step
    marks = np.linspace(EVENTS // SAMPLES, EVENTS - 1, SAMPLES).astype(int)
    size = _weights_read(config) + held[marks] * 2 * config.layers * (config.dim + 4 * config.heads)  # with the scales
    predictor, peers = model.predictor(), Peers(path, history, config.context)
    load, done = os.getloadavg()[0], 0
    stretches, times, bound = [], [], []
    for mark, read in zip(marks.tolist(), size.tolist(), strict=True):
        stretches.append(Timed(predictor, history[done : mark + 1], help_every=mark + 1 - done))
        past, done = int(held[mark]) - 1, mark + 1
        times.append((peers.time_scalar(mark), peers.time_torch(past), peers.time_onnx(past)))
        bound.append(1e3 * read / _engine.read_bandwidth(read))
    cpu, wall = (np.concatenate([getattr(one, clock) for one in stretches]) for clock in ("cpu", "wall"))
    _draw(cpu, held, FIGURE)
    unhelped = Timed(model.predictor(), history[:EVENTS])

    own, least = _quantiles(cpu[marks]), _quantiles(np.array(bound))
    figures = [
        *_rows("engine, int8", cpu[marks])[:2],
        *_rows("engine, wall clock", wall[marks])[:2],
        Figure(f"engine, largest of {EVENTS:,}", float(cpu.max()), "ms"),
        Figure("passive cache, between rankings", float(np.mean([one.idle for one in stretches])), "ms an event"),
        *_rows("engine, nobody calls catch_up", unhelped.cpu),
        Figure("events compared", SAMPLES, f"of {EVENTS:,}"),
        Figure("load of the machine before", load, f"of {os.cpu_count()} processors"),
        Figure("load of the machine after", os.getloadavg()[0], f"of {os.cpu_count()} processors"),
        Figure("wall clock / CPU time of the engine", float(wall.sum() / cpu.sum()), "x"),
    ]
    for (name, slower), its in zip(PEERS.items(), np.array(times).T, strict=True):
        figures += _rows(name, its)[:2]
        for quantile in ("p50", "p99"):
            ratio = _quantiles(its)[quantile] / own[quantile]
            figures.append(Figure.at_least(f"  times slower, {quantile}", ratio, "x", slower))
    for quantile in ("p50", "p99"):
        ratio = own[quantile] / least[quantile]
        figures.append(Figure.at_most(f"engine over its read bound, {quantile}", ratio, "x", 2))
    counted = model.weight_bytes / 1e6 + megabytes(predictor)
    _, _, grown = alone(SETUP, FILL, str(path))
    return [
        *figures,
        Figure("read bandwidth, buffer of the same size", float(np.median(size / np.array(bound)) / 1e6), "GB/s"),
        Figure("read bandwidth, 256 MB", _engine.read_bandwidth(256 << 20) / 1e9, "GB/s"),
        Figure.at_most("memory of a full session and the weights, counted", counted, "MB", MOST_MB),
        Figure.at_most("the same, as the process grows at its peak", grown, "MB", MOST_MB),
    ]


def _weights_read(config: ModelConfig) -> int:
    """Bytes of int8 weights that an event reads, with a scale a row: of tables only a few rows, not counted here."""
    d, hidden, vocabulary = config.dim, config.hidden, config.vocabulary
    return config.layers * (4 * d * d + 3 * d * hidden + 4 * (5 * d + 2 * hidden)) + vocabulary * (d + 4)


def _quantiles(milliseconds: Floats) -> dict[str, float]:
    return dict(zip(("p50", "p99", "max"), np.percentile(milliseconds, (50, 99, 100)).tolist(), strict=True))


def _rows(what: str, milliseconds: Floats) -> list[Figure]:
    return [Figure(f"{what}: {name}", value, "ms") for name, value in _quantiles(milliseconds).items()]


def _timed(work: Callable[[], object]) -> float:
    """Milliseconds of the second of two calls: the first warms up."""
    work()
    begin = thread_time()
    work()
    return 1e3 * (thread_time() - begin)


class Peers:
    """The same model elsewhere, each timed at one event with others before it."""

    def __init__(self, path: Path, history: list[Event], context: int) -> None:
        torch.set_num_threads(1)
        self.model = weights.load(path)
        self.cache = Cache(self.model.config, context)
        self.cache.keys.normal_()
        self.cache.values.normal_()
        tensors = {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = onnx.build(self.model.config, tensors).SerializeToString()
        self.onnx = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.full = EngineModel(path, "fp32")
        self.donor = self.full.predictor(Settings(cache="fp32"))
        self.history, self.at = history, 0

    @torch.inference_mode()
    def time_torch(self, past: int) -> float:
        one, minutes, hour = torch.tensor([[1]]), torch.tensor([[1e5]], dtype=torch.float64), torch.tensor([[12.0]])

        def work() -> None:
            self.cache.length = past
            self.model(one, one, minutes, hour, self.cache)[0, -1].topk(5)

        return _timed(work)

    def time_onnx(self, past: int) -> float:
        one = np.ones(1, np.int64)
        feed = {
            "app": one,
            "action": one,
            "minutes": np.full(1, 1e5),
            "hour": np.full(1, 12.0, np.float32),
            "past_keys": self.cache.keys[:, 0, :, :past].contiguous().numpy(),
            "past_values": self.cache.values[:, 0, :, :past].contiguous().numpy(),
        }
        return _timed(lambda: np.argsort(-self.onnx.run(None, feed)[0][-1])[:5])

    def time_scalar(self, step: int) -> float:
        """The engine's plain loops in fp32: a session that took the events up to `step` goes on with them."""
        for event in self.history[self.at : step]:
            self.donor.observe(event)
        self.at = step
        _catch_up(self.donor)
        scalar = self.full.restore(self.donor.snapshot(), "scalar")
        coming = iter(self.history[step : step + 2])

        def work() -> None:
            scalar.observe(next(coming))
            scalar.rank(5)

        return _timed(work)


def _catch_up(predictor: EnginePredictor) -> None:
    """Nothing is left to do when the next event comes."""
    predictor.rank(5)
    predictor.catch_up(max(LENGTHS))


def _draw(cpu: Floats, held: Longs, out: Path) -> None:
    explained = "ISWI's sawtooth: the predicting cache grows from L/2 to L, then the other one takes over."
    with drawing(out, (9, 4), explained) as figure:
        axes = figure.subplots()
        axes.plot(cpu, ".", markersize=1.5, color="#2b6cb0", label="observe + rank")
        most = 1.3 * np.percentile(cpu, 99.5)
        axes.set(xlabel="event", ylabel="CPU milliseconds", xlim=(0, len(held)), ylim=(0, most))
        other = axes.twinx()
        other.plot(held, color="#c05621", linewidth=1, label="events in the predicting cache")
        other.set(ylabel="events", ylim=(0, None))
        figure.legend(loc="outside upper center", ncols=2, frameon=False)


def _lengths(model: EngineModel) -> dict[str, float]:
    """Median milliseconds with a full context of L events, for every L."""
    times = {}
    for length in LENGTHS:
        history = events(length)
        predictor = model.predictor(Settings(context=length))
        for event in history[:-20]:
            predictor.observe(event)
        _catch_up(predictor)
        times[length] = float(np.median(Timed(predictor, history[-20:]).cpu))
    slope, start = np.polyfit(list(times), list(times.values()), 1)
    rows = [Figure(f"L = {length}", value, "ms") for length, value in times.items()]
    rows += [Figure("slope", 1e3 * slope, "ms per 1,000 events"), Figure("at L = 0", start, "ms")]
    publish("latency with a full context of L events", rows)
    return {str(length): value for length, value in times.items()} | {"slope": float(slope)}


def _strategies(model: EngineModel, history: list[Event]) -> dict[str, dict[str, float]]:
    times, rows = {}, []
    for strategy in STRATEGIES:
        predictor = model.predictor(Settings(strategy=strategy))  # type: ignore[arg-type]
        done = Timed(predictor, history[:EVENTS], HELP_EVERY)
        times[strategy] = _quantiles(done.cpu) | {"idle": done.idle, "MB": megabytes(predictor)}
        for name, value in times[strategy].items():
            rows.append(Figure(f"{strategy}: {name}", value, "MB" if name == "MB" else "ms"))
    publish(f"strategies, {EVENTS:,} events", rows)
    return times
