"""`stap bench latency`: observe + rank at the paper's sizes, beside the paper's engine, PyTorch and onnxruntime.

Every timing is CPU time of the one thread that works, so that a busy machine changes it little; weights are random.
The engine goes through all 10,000 events. Its peers are slow, so each is timed at 600 of those events, evenly spaced,
with a cache of the length it has there and after one call to warm up; in turn, so that all see the same machine. Needs
the extras train and onnx.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from stap import _engine
from stap.engine import EngineModel, EnginePredictor, Settings
from stap.events import Event
from stap.model import onnx, weights
from stap.model.config import ModelConfig
from stap.model.transformer import Cache, Transformer
from stap.reference.iswi import plan
from stap.verdict import Figure, publish

EVENTS, SAMPLES = 10_000, 600
LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384)
STRATEGIES = ("iswi", "reset", "re-prefill", "rolling")
FIGURE = Path("latency.png")
Floats = NDArray[np.float64]


def person(count: int, seed: int = 0) -> list[Event]:
    """An invented one with 150 apps: only the number of events matters here."""
    rng = np.random.default_rng(seed)
    apps = np.repeat(rng.zipf(1.3, count) % 150, 2)[:count]
    minutes = 29e6 + np.cumsum(rng.exponential(8, count))
    return [Event(f"app{a}", 1 - i % 2, m, m % 1440 / 60) for i, (a, m) in enumerate(zip(apps, minutes, strict=True))]


def contexts(count: int, context: int) -> NDArray[np.int64]:
    """(count,) how many events ISWI's predicting cache holds at each step."""
    held, sizes = [0, 0], []
    for step in range(count):
        receives, predicts, clears = plan(step, context // 2)
        for cache in receives:
            held[cache] += 1
        sizes.append(held[predicts])
        if clears is not None:
            held[clears] = 0
    return np.array(sizes)


class Run:
    """All events through a predictor: milliseconds of each observe + rank, and of what was done between them."""

    def __init__(self, predictor: EnginePredictor, events: list[Event], help_every: int = 16) -> None:
        cpu, wall, idle = [], [], 0.0
        for step, event in enumerate(events, 1):
            begin, began = thread_time(), perf_counter()
            predictor.observe(event)
            predictor.rank(5)
            cpu.append(thread_time() - begin)
            wall.append(perf_counter() - began)
            if help_every and step % help_every == 0:
                begin = thread_time()
                predictor.catch_up(2 * help_every)
                idle += thread_time() - begin
        self.cpu, self.wall = 1e3 * np.array(cpu), 1e3 * np.array(wall)
        self.idle = 1e3 * idle / len(events)
        info = predictor.info()
        self.memory = (info["cache_bytes"] + info["other_bytes"]) / 1e6


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of the second of two calls: the first warms up."""
    work()
    begin = thread_time()
    work()
    return 1e3 * (thread_time() - begin)


class Peers:
    """The same model elsewhere; each `time_*` takes the number of events that are in the cache already."""

    def __init__(self, path: Path, events: list[Event], context: int) -> None:
        torch.set_num_threads(1)
        self.model = weights.load(path)
        config = self.model.config
        self.cache = Cache(config, context)
        self.cache.keys.normal_(), self.cache.values.normal_()
        tensors = {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = onnx.build(config, tensors).SerializeToString()
        self.onnx = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.full = EngineModel(path, "fp32")
        self.donor = self.full.predictor(Settings(cache="fp32"))
        self.events, self.at = events, 0

    def time_torch(self, held: int) -> float:
        def work() -> None:
            self.cache.length = held
            with torch.inference_mode():
                one = torch.tensor([[1]])
                minutes, hour = torch.tensor([[1e5]], dtype=torch.float64), torch.tensor([[12.0]])
                self.model(one, one, minutes, hour, self.cache)[0, -1].topk(5)

        return timed(work)

    def time_onnx(self, held: int) -> float:
        keys = self.cache.keys[:, 0, :, :held].contiguous().numpy()
        values = self.cache.values[:, 0, :, :held].contiguous().numpy()
        one, hour = np.ones(1, np.int64), np.full(1, 12.0, np.float32)
        feed = {
            "app": one,
            "action": one,
            "minutes": np.full(1, 1e5),
            "hour": hour,
            "past_keys": keys,
            "past_values": values,
        }
        return timed(lambda: np.argsort(-self.onnx.run(None, feed)[0][-1])[:5])

    def time_scalar(self, step: int) -> float:
        """The engine's plain loops in fp32: a session that took the events up to `step` goes on with them."""
        for event in self.events[self.at : step]:
            self.donor.observe(event)
        self.at = step
        self.donor.rank(1)
        self.donor.catch_up(10_000)
        scalar = self.full.restore(self.donor.snapshot(), "scalar")
        coming = iter(self.events[step : step + 2])

        def work() -> None:
            scalar.observe(next(coming))
            scalar.rank(5)

        return timed(work)


def quantiles(marks: Floats | list[float]) -> tuple[float, float, float]:
    p50, p99, most = np.percentile(marks, (50, 99, 100))
    return float(p50), float(p99), float(most)


def by_length(path: Path) -> dict[int, float]:
    """Median milliseconds with a full context of L events, for every L."""
    model, found = EngineModel(path, "int8"), {}
    for length in LENGTHS:
        events = person(length)
        predictor = model.predictor(Settings(context=length))
        for event in events[:-20]:
            predictor.observe(event)
        predictor.rank(5)
        predictor.catch_up(length)
        found[length] = float(np.median(Run(predictor, events[-20:], 0).cpu))
    return found


def draw(run: Run, sizes: NDArray[np.int64], out: Path) -> None:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(run.cpu, ".", markersize=1.5, color="#2b6cb0", label="observe + rank")
    axes.set(
        xlabel="event", ylabel="CPU milliseconds", ylim=(0, 1.3 * np.percentile(run.cpu, 99.5)), xlim=(0, len(sizes))
    )
    other = axes.twinx()
    other.plot(sizes, color="#c05621", linewidth=1, label="events in the predicting cache")
    other.set(ylabel="events", ylim=(0, None))
    axes.set_title(
        "ISWI's sawtooth: the predicting cache grows from L/2 to L, then the other one takes over", fontsize=10
    )
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(out, dpi=130)


# A session with both caches as full as they get: L and L/2 events.
MEMORY = """
import sys
from pathlib import Path
from stap.events import Event
from stap.engine import EngineModel
def kilobytes(name):
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if name in line).split()[1])
before = kilobytes("VmRSS")
predictor = EngineModel(sys.argv[1], "int8").predictor()
for step in range(4 * 2048):
    predictor.observe(Event(f"app{step // 2 % 150}", 1 - step % 2, 29e6 + 8 * step, 12.0))
predictor.rank(5)
predictor.catch_up(10000)
print((kilobytes("VmHWM") - before) / 1e3)
"""


def run() -> dict[str, Any]:
    config = ModelConfig()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper.safetensors"
        weights.save(Transformer(config), path)
        return _measure(path, config)


def _measure(path: Path, config: ModelConfig) -> dict[str, Any]:
    events = person(EVENTS + 1)
    sizes = contexts(EVENTS, config.context)
    model = EngineModel(path, "int8")
    helped = Run(model.predictor(), events[:EVENTS])
    alone_ = Run(model.predictor(), events[:EVENTS], help_every=0)
    draw(helped, sizes, FIGURE)

    peers = Peers(path, events, config.context)
    marks: dict[str, list[float]] = {"scalar fp32, the paper's engine": [], "PyTorch": [], "onnxruntime": []}
    bound: list[float] = []
    per_event = 2 * config.layers * (config.dim + 4 * config.heads)  # keys, values and their scales, in bytes
    for step in np.linspace(EVENTS // SAMPLES, EVENTS - 1, SAMPLES).astype(int).tolist():
        held = int(sizes[step])
        marks["scalar fp32, the paper's engine"].append(peers.time_scalar(step))
        marks["PyTorch"].append(peers.time_torch(held - 1))
        marks["onnxruntime"].append(peers.time_onnx(held - 1))
        size = model.weight_bytes + held * per_event
        bound.append(1e3 * size / _engine.read_bandwidth(size))

    p50, p99, most = quantiles(helped.cpu)
    figures = [
        Figure("engine, int8: p50", p50, "ms"),
        Figure("engine, int8: p99", p99, "ms"),
        Figure("engine, int8: max", most, "ms"),
        *(
            Figure(f"engine, wall clock: {q}", v, "ms")
            for q, v in zip(("p50", "p99", "max"), quantiles(helped.wall), strict=True)
        ),
        Figure("passive cache, between rankings", helped.idle, "ms an event"),
        *(
            Figure(f"engine, nobody calls catch_up: {q}", v, "ms")
            for q, v in zip(("p50", "p99", "max"), quantiles(alone_.cpu), strict=True)
        ),
    ]
    figures.append(Figure("the engine was timed at", EVENTS, "events"))
    figures.append(Figure("its peers at", SAMPLES, "of them"))
    for (name, times), least in zip(marks.items(), (10, 5, 3), strict=True):
        other50, other99, _ = quantiles(times)
        figures.append(Figure(f"{name}: p50", other50, "ms"))
        figures.append(Figure(f"{name}: p99", other99, "ms"))
        for quantile, ratio in (("p50", other50 / p50), ("p99", other99 / p99)):
            figures.append(Figure(f"  times slower, {quantile}", ratio, "x", f"at least {least}", ratio >= least))
    bound50, bound99, _ = quantiles(bound)
    for quantile, ratio in (("p50", p50 / bound50), ("p99", p99 / bound99)):
        figures.append(Figure(f"engine over its read bound, {quantile}", ratio, "x", "at most 2", ratio <= 2))
    figures.append(Figure("read bandwidth, buffer of the same size", float(size / bound[-1] / 1e6), "GB/s"))
    figures.append(Figure("read bandwidth, 256 MB", _engine.read_bandwidth(256 << 20) / 1e9, "GB/s"))
    figures += _memory(path, model, helped)
    report = publish("observe + rank, paper's sizes, L = 4096, one thread, CPU time", figures)
    return report | {"lengths": _lengths(path), "strategies": _strategies(model, events), "figure": str(FIGURE)}


def _memory(path: Path, model: EngineModel, full: Run) -> list[Figure]:
    """What the engine counts, and what the system sees a process of its own grow by."""
    counted = full.memory + model.weight_bytes / 1e6
    done = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True)
    grown = float(done.stdout)
    return [
        Figure("memory of a full session and the weights, counted", counted, "MB", "at most 80", counted <= 80),
        Figure("the same, as the process grows at its peak", grown, "MB", "at most 80", grown <= 80),
    ]


def _lengths(path: Path) -> dict[str, float]:
    found = by_length(path)
    slope, start = np.polyfit(list(found), list(found.values()), 1)
    rows = [Figure(f"L = {length}", value, "ms") for length, value in found.items()]
    rows.append(Figure("slope", 1e3 * slope, "ms per 1,000 events"))
    rows.append(Figure("at L = 0", start, "ms"))
    publish("latency with a full context of L events", rows)
    return {str(length): value for length, value in found.items()} | {"slope": float(slope)}


def _strategies(model: EngineModel, events: list[Event]) -> dict[str, dict[str, float]]:
    found, rows = {}, []
    for strategy in STRATEGIES:
        done = Run(model.predictor(Settings(strategy=strategy)), events[:EVENTS])  # type: ignore[arg-type]
        p50, p99, most = quantiles(done.cpu)
        found[strategy] = {"p50": p50, "p99": p99, "max": most, "idle": done.idle, "MB": done.memory}
        rows += [
            Figure(f"{strategy}: {name}", value, "MB" if name == "MB" else "ms")
            for name, value in found[strategy].items()
        ]
    publish("strategies, 10,000 events", rows)
    return found
