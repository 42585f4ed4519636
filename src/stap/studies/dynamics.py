"""`stap study dynamics`: how the paper's own settings learn. A plateau, then a fall: when, and how it grows with L."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stap.describe.canvas import GREY, drawing
from stap.model.config import ModelConfig
from stap.model.score import OF_ALL
from stap.studies import runs
from stap.studies.circuit import FIGURES, probe
from stap.studies.experiment import Experiment, Found, Job, Outcome, Scale
from stap.studies.populations import NamedPeople
from stap.terminal import Grid
from stap.train.config import TrainConfig
from stap.train.people import split

FALL = math.log(200) - 5.0  # the paper calls it the phenomenon epoch when 5.0 is reached, of ln 200 at chance
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"  # told apart by everybody
EXPLAINED = (
    "The paper's settings at a reduced size. Above: the loss stays at chance, then falls (dotted: where the fall is "
    "dated); hits are among the person's apps, or among all V. Below: when it falls, by context length; and what the "
    "best head does meanwhile: where it looks, and how many apps it names rightly when it passes them on."
)


@dataclass(frozen=True)
class Size:
    """Of the runs: the paper's rates and nothing that helps."""

    model: ModelConfig
    batch: int  # events
    epochs: int
    length: int  # context of the runs that are repeated with every seed
    lengths: tuple[int, ...]
    seeds: int
    others: int  # seeds of the other lengths
    usages: int | None = None  # of each person at most

    def settings(self, length: int, seed: int) -> TrainConfig:
        model = replace(self.model, context=length)
        return replace(
            TrainConfig(model=model, seed=seed), epochs=self.epochs, tokens_per_batch=self.batch, validate_every=2
        )


SIZES: dict[Scale, Size] = {
    "paper": Size(ModelConfig(), 65_536, 60, 4096, (64, 256, 1024, 4096, 16_384), 5, 5),
    "here": Size(ModelConfig(dim=64, layers=3, hidden=128), 2048, 14, 256, (32, 64, 128, 256, 512), 5, 1),
    "toy": Size(ModelConfig(vocabulary=40, dim=32, layers=2, heads=2, hidden=32), 512, 3, 32, (16, 32), 2, 2, 60),
}


@dataclass(frozen=True)
class Dynamics(Experiment):
    people: NamedPeople
    name: ClassVar[str] = "dynamics"
    question: ClassVar[str] = "When does the paper's model begin to learn, and what happens inside it then?"

    @property
    def size(self) -> Size:
        return SIZES[self.scale]

    def about(self) -> dict[str, Any]:
        return {"data": {self.people.name: self.people.about()}, "seeds": list(range(self.size.seeds))}

    def jobs(self) -> list[Job]:
        """Every seed at one length, some at the others."""
        size = self.size
        wanted = [(size.length, seed) for seed in range(size.seeds)]
        wanted += [(length, seed) for length in size.lengths if length != size.length for seed in range(size.others)]
        return [
            Job(key(*each), follow, (self.people, size.settings(*each), size.usages), resumes=True) for each in wanted
        ]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        size, lines = self.size, {name: file["lines"] for name, file in found.items()}
        vocabulary = size.model.vocabulary
        falls = {
            length: [
                fall(lines[key(length, seed)], vocabulary) for seed in range(size.seeds) if key(length, seed) in lines
            ]
            for length in size.lengths
        }
        fit = fitted(falls)
        seeds = [lines[key(size.length, seed)] for seed in range(size.seeds)]
        figures = {"falls": {str(length): epochs for length, epochs in falls.items()}, "fit": fit, "lines": lines}
        return Outcome(
            figures, (_table(falls, fit, size), _insides(seeds, vocabulary)), _draw(seeds, falls, fit, vocabulary)
        )


def key(length: int, seed: int) -> str:
    return f"{length}-{seed}"


def follow(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None) -> Found:
    """Train, and look inside after every epoch, at people who validate."""
    corpus = people.read(usages)
    watched = split(corpus, settings, people.name).validation
    inside = probe(watched, settings.model.vocabulary, min(256, settings.model.context))
    return {"lines": runs.trained(folder, corpus, settings, inside)}


def fall(lines: Sequence[Mapping[str, Any]], vocabulary: int) -> float | None:
    """The epoch at which the training loss has fallen as far below chance as 5.0 is below ln 200, interpolated."""
    bound = math.log(vocabulary) - FALL
    before = None
    for line in lines:
        if line["loss"] <= bound:
            if before is None or before["loss"] <= line["loss"]:
                return float(line["epoch"])
            past = (before["loss"] - bound) / (before["loss"] - line["loss"])
            return float(before["epoch"] + past * (line["epoch"] - before["epoch"]))
        before = line
    return None


def fitted(falls: Mapping[int, Sequence[float | None]]) -> dict[str, float] | None:
    """epoch = a + b log2(L), by least squares over all runs that fell; None where two lengths did not."""
    points = [(math.log2(length), epoch) for length, epochs in falls.items() for epoch in epochs if epoch is not None]
    if len({x for x, _ in points}) < 2:
        return None
    x, y = np.array(points).T
    slope, start = np.polyfit(x, y, 1)
    rest, total = float(((y - start - slope * x) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return {"slope": float(slope), "start": float(start), "R2": 1.0 - rest / total if total else 1.0}


def _table(falls: Mapping[int, Sequence[float | None]], fit: Mapping[str, float] | None, size: Size) -> Grid:
    rows = [
        (str(length), *_said(epochs), str(sum(epoch is None for epoch in epochs))) for length, epochs in falls.items()
    ]
    said = f"At most {size.epochs} epochs were trained."
    if fit is not None:
        said += f" Fit: epoch = {fit['start']:.2f} + {fit['slope']:.2f} log2(L), R^2 = {fit['R2']:.2f}."
    return Grid("When the fall comes, by context length", ("L, events", "epoch", "runs", "without a fall"), rows, said)


def _said(epochs: Sequence[float | None]) -> tuple[str, str]:
    fell = [epoch for epoch in epochs if epoch is not None]
    return (runs.spread(fell) if fell else "-", str(len(epochs)))


def _insides(seeds: Sequence[Sequence[Mapping[str, Any]]], vocabulary: int) -> Grid:
    """The first epoch, the one before the fall, and the last: means over seeds."""
    marks = {"first epoch": [0] * len(seeds), "last epoch": [-1] * len(seeds)}
    at = [fall(lines, vocabulary) for lines in seeds]
    if all(epoch is not None for epoch in at):
        before = [max(0, math.ceil(epoch or 0) - 2) for epoch in at]
        marks = {"first epoch": marks["first epoch"], "before the fall": before, "last epoch": marks["last epoch"]}
    rows = []
    for when, places in marks.items():
        chosen = [lines[place] for lines, place in zip(seeds, places, strict=True)]
        inside = [f"{np.mean([line['watch'][name] for line in chosen]):.1f}" for name in FIGURES]
        rows.append((when, f"{np.mean([line['loss'] for line in chosen]):.2f}", *inside))
    said = "Means over seeds. Shares in percent, of the best head; rank of the map from app vectors to logits."
    return Grid("What the best head does meanwhile", ("", "loss", *FIGURES), rows, said)


def _draw(
    seeds: Sequence[Sequence[Mapping[str, Any]]],
    falls: Mapping[int, Sequence[float | None]],
    fit: Mapping[str, float] | None,
    vocabulary: int,
) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (11, 8.5), EXPLAINED) as figure:
            (loss, hits), (when, inside) = figure.subplots(2, 2)
            for number, lines in enumerate(seeds):
                epoch, steps = ([line[name] for line in lines] for name in ("epoch", "steps"))
                once = number == 0
                loss.plot(steps, [line["loss"] for line in lines], color=BLUE, alpha=0.7, label="training" * once)
                checked = [line for line in lines if line["validation"]]
                its = [line["validation"]["loss"] for line in checked]
                loss.plot(
                    [line["steps"] for line in checked], its, "--", color=ORANGE, alpha=0.7, label="validation" * once
                )
                for name, colour, words in (("HR@1", BLUE, "the person's apps"), (OF_ALL, GREEN, f"all {vocabulary}")):
                    values = [line["training"][name] for line in lines]
                    hits.plot(epoch, values, color=colour, alpha=0.7, label=f"among {words}" if once else "")
                for name, colour in zip(FIGURES[:3], (BLUE, ORANGE, GREEN), strict=True):
                    inside.plot(
                        epoch, [line["watch"][name] for line in lines], color=colour, alpha=0.7, label=name * once
                    )
            loss.axhline(math.log(vocabulary) - FALL, color=GREY, linestyle=":")
            loss.set(xlabel="steps", ylabel="cross-entropy", title="The loss: a plateau, then a fall")
            hits.axhline(100 / vocabulary, color=GREY, linestyle=":")
            hits.set(xlabel="epoch", ylabel="HR@1 in training, percent", title="Hits, of whom?", yscale="log")
            inside.set(xlabel="epoch", ylabel="best head, percent", title="What the best head does")
            for axis in (loss, hits, inside):
                axis.legend(frameon=False)
            for length, epochs in falls.items():
                fell = [epoch for epoch in epochs if epoch is not None]
                when.plot([length] * len(fell), fell, "o", color=BLUE, alpha=0.7, markersize=7, gid="the fall")
            if fit is not None:
                x = np.array(list(falls), float)
                words = f"{fit['start']:.1f} + {fit['slope']:.2f} log2 L, R² = {fit['R2']:.2f}"
                when.plot(x, fit["start"] + fit["slope"] * np.log2(x), color=ORANGE, label=words)
                when.legend(frameon=False)
            when.set_xscale("log", base=2)
            when.set(xlabel="context length L, events", ylabel="epoch of the fall", title="Longer contexts fall later")

    return draw
