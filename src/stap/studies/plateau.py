"""`stap study plateau`: why the paper's model learns nothing at first.

Which switch shortens the plateau by how much; and what a new model needs to be given of a trained one to have none. A
trained model is taken apart: how it *looks* (queries and keys), and how it *names* (app vectors in, values and outputs
on, the head out). Each half goes into a model that is otherwise new.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from stap.describe.canvas import GREY, drawing
from stap.model import weights
from stap.studies import runs
from stap.studies.dynamics import BLUE, FALL, GREEN, ORANGE, PINK, SIZES, Size, fall
from stap.studies.experiment import Experiment, Found, Job, Outcome
from stap.studies.populations import NamedPeople
from stap.terminal import Grid
from stap.train.config import TrainConfig, changed
from stap.train.tasks.base import fresh
from stap.weights import model_file

SWITCHES: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "ordinal heads": {"model": {"ordinal_heads": 2}},
    "mixed keys": {"model": {"mixed_keys": True}},
    "query-key norm": {"model": {"query_key_norm": True}},
    "zero outputs": {"zero_outputs": True},
    "rate times 5": {"learning_rate": 1.5e-3},
    "Muon": {"muon": 10.0},
    "shorter windows first": {"curriculum": ((16, 2), (32, 2))},
    "tied apps": {"model": {"tied_apps": True}},
}
# What a new model is given of a trained one. Queries and keys look; values and the tensors that end so name.
LOOKING, NAMING = "how it looks", "how it names"
HALVES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    LOOKING: (LOOKING,),
    NAMING: (NAMING,),
    "both": (LOOKING, NAMING),
}
NAMING_TENSORS = ("embed_app.weight", "fuse.weight", "fuse.bias", "attention.out.weight", "head.weight")
EXPLAINED = (
    "Left: the epoch at which the loss has fallen by 0.3, with one switch at a time on top of the paper's settings "
    "(an arrow: not within the run). Right: new models that were given a part of a trained one."
)


@dataclass(frozen=True)
class Plateau(Experiment):
    people: NamedPeople
    name: ClassVar[str] = "plateau"
    question: ClassVar[str] = "Why does the paper's model learn nothing at first, and what shortens that?"

    @property
    def size(self) -> Size:
        """The one of `dynamics`, at a context so short that the plateau ends soon."""
        size = SIZES[self.scale]
        return replace(size, length=64, epochs=9) if self.scale == "here" else size

    @property
    def seeds(self) -> range:
        return range(5 if self.scale == "paper" else 1)

    def about(self) -> dict[str, Any]:
        return {"data": {self.people.name: self.people.about()}, "seeds": list(self.seeds)}

    def jobs(self) -> list[Job]:
        size, jobs = self.size, []
        for seed in self.seeds:
            plain = size.settings(size.length, seed)
            for number, switch in enumerate(SWITCHES.values()):
                settings = _with(plain, switch)
                jobs.append(Job(f"switch-{number}-{seed}", follow, (self.people, settings, size.usages), True))
        jobs.append(Job("halves", transplant, (self.people, size.settings(size.length, 0), size.usages), True))
        return jobs

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        vocabulary = self.size.model.vocabulary
        lines = {
            name: [found[f"switch-{number}-{seed}"]["lines"] for seed in self.seeds]
            for number, name in enumerate(SWITCHES)
        }
        falls = {name: [fall(each, vocabulary) for each in of_seeds] for name, of_seeds in lines.items()}
        halves: dict[str, list[dict[str, Any]]] = found["halves"]["lines"]
        given = {name: fall(each, vocabulary) for name, each in halves.items()}
        figures = {"switches": falls, "halves": given, "lines": {"switches": lines, "halves": halves}}
        last = {name: of_seeds[0][-1]["loss"] for name, of_seeds in lines.items()}
        tables = (_switches(falls, last, self.size.epochs), _halves(given, halves))
        return Outcome(figures, tables, _draw(falls, halves, vocabulary, self.size.epochs))


def _with(plain: TrainConfig, switch: Mapping[str, Any]) -> TrainConfig:
    """One switch on; a length that is not shorter than the run's own is left out of a curriculum."""
    settings = changed(plain, {name: value for name, value in switch.items() if name != "curriculum"}, "a switch")
    shorter = tuple(phase for phase in switch.get("curriculum", ()) if phase[0] < plain.model.context)
    return replace(settings, curriculum=shorter)


def follow(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None) -> Found:
    corpus = people.read(usages)
    return {"lines": runs.trained(folder, corpus, settings)}


def transplant(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None) -> Found:
    """Train; then again, new but for a half of what was learned. (A run halves its rate when it begins from a file.)"""
    follow(folder / "trained", people, settings, usages)
    donor = weights.load(model_file(folder / "trained")).state_dict()
    lines = {}
    for number, (name, halves) in enumerate(HALVES.items()):
        new = fresh(replace(settings, seed=settings.seed + 1))
        new.load_state_dict(_mixed(new.state_dict(), donor, halves))
        start = folder / f"{number}.safetensors"
        if not start.exists():
            weights.save(new, start)
        begun = replace(settings, start=str(start), learning_rate=2 * settings.learning_rate)
        lines[name] = follow(folder / str(number), people, begun, usages)["lines"]
    return {"lines": lines}


def _mixed(new: Mapping[str, Tensor], donor: Mapping[str, Tensor], halves: Sequence[str]) -> dict[str, Tensor]:
    """The new weights with some of the donor's in their place."""
    mixed = dict(new)
    for name, given in donor.items():
        if name.endswith("attention.qkv.weight"):
            looks = len(given) * 2 // 3  # queries and keys first, values last
            first = (given if LOOKING in halves else new[name])[:looks]
            mixed[name] = torch.cat([first, (given if NAMING in halves else new[name])[looks:]])
        elif name.endswith(NAMING_TENSORS) and NAMING in halves:
            mixed[name] = given
    return mixed


def _switches(falls: Mapping[str, Sequence[float | None]], last: Mapping[str, float], epochs: int) -> Grid:
    plain = [epoch for epoch in falls["as in the paper"] if epoch is not None]
    rows = []
    for name, each in falls.items():
        fell = [epoch for epoch in each if epoch is not None]
        shorter = f"{sum(plain) / len(plain) / (sum(fell) / len(fell)):.1f}" if plain and fell else "-"
        rows.append((name, runs.spread(fell) if fell else f"over {epochs}", shorter, f"{last[name]:.2f}"))
    said = "The epoch of the fall, mean and deviation over seeds; how many times sooner; the first seed's last loss."
    return Grid("One switch at a time", ("switch", "epoch", "times sooner", "last loss"), rows, said)


def _halves(given: Mapping[str, float | None], lines: Mapping[str, Sequence[Mapping[str, Any]]]) -> Grid:
    rows = [
        (
            name,
            "-" if epoch is None else f"{epoch:.2f}",
            f"{lines[name][0]['loss']:.2f}",
            f"{lines[name][-1]['loss']:.2f}",
        )
        for name, epoch in given.items()
    ]
    said = "Everything else is new. One seed."
    return Grid(
        "What a new model was given of a trained one", ("given", "epoch", "first loss", "last loss"), rows, said
    )


def _draw(
    falls: Mapping[str, Sequence[float | None]],
    halves: Mapping[str, Sequence[Mapping[str, Any]]],
    vocabulary: int,
    epochs: int,
) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (11, 4.8), EXPLAINED) as figure:
            bars, curves = figure.subplots(1, 2)
            for place, each in enumerate(falls.values()):
                fell = [epoch for epoch in each if epoch is not None]
                bars.barh(place, sum(fell) / len(fell) if fell else epochs, color=BLUE if fell else GREY, height=0.6)
                bars.plot(fell, [place] * len(fell), "o", color="#22303f", markersize=5)
                if not fell:
                    bars.plot(epochs, place, ">", color=GREY, markersize=9)
            bars.set_yticks(range(len(falls)), list(falls))
            bars.invert_yaxis()
            bars.set(xlabel="epoch of the fall", title="One switch at a time", xlim=(0, None))
            for (name, lines), colour in zip(halves.items(), (GREY, ORANGE, BLUE, GREEN), strict=True):
                curves.plot(
                    [line["epoch"] for line in lines], [line["loss"] for line in lines], color=colour, label=name
                )
            curves.axhline(math.log(vocabulary) - FALL, color=PINK, linestyle=":")
            curves.set(xlabel="epoch", ylabel="training loss", title="Given of a trained model")
            curves.legend(frameon=False)

    return draw
