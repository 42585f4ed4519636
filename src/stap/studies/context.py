"""`stap study context`: how much of the past is worth reading? One model per length, and one model given less and less.

A batch holds as many events at every length, and every run sees as many in all. Where a gain fades, two things can be
the reason: nothing more to learn from further back, or no logs that go further back. People of the prior, whose logs
are as long as one likes, tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stap.describe.canvas import drawing, plain
from stap.evaluate import Terms
from stap.metrics import NAMES
from stap.studies import runs
from stap.studies.experiment import Found, Job, Outcome, Scale, file_hash
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Trains
from stap.terminal import Grid
from stap.train.config import TrainConfig

LENGTHS: dict[Scale, tuple[int, ...]] = {
    "paper": tuple(2**power for power in range(4, 15)),
    "here": tuple(2**power for power in range(4, 13)),  # real logs here are hardly longer
    "toy": (16, 64),
}
LEAST_STEPS: dict[Scale, int] = {"paper": 0, "here": 40, "toy": 0}  # long windows make large batches, and few
GIVEN = "one model, given less"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")
EXPLAINED = (
    "By context length in events. Validation and test: a model of its own for every length, on people who validated "
    "and on people kept for testing. One model, given less: a trained one that sees only so many of the last events."
)


@dataclass(frozen=True)
class Context(Trains):
    model: Path | None  # a trained one that is given less; without statistics of its own
    chosen: tuple[int, ...] = ()  # lengths other than the scale's own
    SEEDS: ClassVar[dict[Scale, int]] = {"paper": 5, "here": 1, "toy": 1}
    name: ClassVar[str] = "context"
    question: ClassVar[str] = "How much of the past is worth reading?"

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.chosen or LENGTHS[self.scale]

    def about(self) -> dict[str, Any]:
        about = super().about() | {"model": file_hash(self.model) if self.model else None}
        return about | ({"lengths": list(self.chosen)} if self.chosen else {})

    def jobs(self) -> list[Job]:
        jobs, recipe = [], self.recipe
        for number, people in enumerate(self.people):
            for length in self.lengths:
                for seed in self.seeds:
                    settings = self._settings(people, length, seed)
                    jobs.append(Job(f"{number}-{length}-{seed}", learn, (people, settings, recipe.usages), True))
                if self.model is not None:
                    jobs.append(Job(f"given-{number}-{length}", give, (people, self.model, length, recipe.usages)))
        return jobs

    def _settings(self, people: NamedPeople, length: int, seed: int) -> TrainConfig:
        settings = self.recipe.settings(people, seed, length)
        tokens = max(settings.tokens_per_batch, *self.lengths)
        passed = 2 * 0.7 * len(people.read(self.recipe.usages).app) / tokens  # steps of one epoch
        epochs = max(settings.epochs, round(LEAST_STEPS[self.scale] / passed))
        check = max(1, epochs // 4)
        return replace(
            settings,
            split=(7, 1, 2),
            tokens_per_batch=tokens,
            curriculum=(),
            epochs=epochs,
            validate_every=check if epochs > settings.epochs else settings.validate_every,
        )

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        panels: dict[str, dict[str, dict[str, list[dict[str, float]]]]] = {"validation": {}, "test": {}, GIVEN: {}}
        for number, people in enumerate(self.people):
            for length in self.lengths:
                of_seeds = [found[f"{number}-{length}-{seed}"] for seed in self.seeds]
                for panel in ("validation", "test"):
                    panels[panel].setdefault(people.name, {})[str(length)] = [each[panel] for each in of_seeds]
                if f"given-{number}-{length}" in found:
                    given = found[f"given-{number}-{length}"]
                    panels[GIVEN].setdefault(people.name, {})[str(length)] = [given["scores"]]
        tables = [_table(panel, rows) for panel, rows in panels.items() if rows]
        lengths = {people.name: _longest(people, self.recipe.usages) for people in self.people}
        return Outcome({"panels": panels, "events of a person": lengths}, tables, _draw(panels))


def learn(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None) -> Found:
    corpus = people.read(usages)
    lines = runs.trained(folder, corpus, settings)
    best = min((line for line in lines if line["validation"]), key=lambda line: line["validation"]["loss"])
    terms = Terms(settings.model.context, settings.model.vocabulary)
    tested = runs.persons(runs.testing(folder, corpus), "stap", "paper", terms, folder)
    validation = {name: best["validation"][name] for name in NAMES}
    return {"validation": validation, "test": runs.pooled(tested.values()), "events": lines[-1]["events"]}


def give(people: NamedPeople, model: Path, length: int, usages: int | None) -> Found:
    """One model in windows of this length, be they shorter or longer than those it was trained on."""
    scores = runs.persons(people.read(usages), "stap", "paper", Terms(length, runs.vocabulary(model)), model)
    return {"scores": runs.pooled(scores.values())}


def _longest(people: NamedPeople, usages: int | None) -> dict[str, int]:
    events = 2 * np.diff(people.read(usages).offsets)
    return {"median": int(np.median(events)), "longest": int(events.max())}


def _table(panel: str, rows: Mapping[str, Mapping[str, list[dict[str, float]]]]) -> Grid:
    lines = [
        (f"{plain(people)}, {length}", *(runs.spread([each[name] for each in of_seeds]) for name in NAMES))
        for people, lengths in rows.items()
        for length, of_seeds in lengths.items()
    ]
    return Grid(f"By context length: {panel}", ("people, L", *NAMES), lines, "Paper protocol, percent.")


def _draw(panels: Mapping[str, Mapping[str, Mapping[str, list[dict[str, float]]]]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        shown = {panel: rows for panel, rows in panels.items() if rows}
        with drawing(path, (4.2 * len(shown), 4.6), EXPLAINED) as figure:
            axes = figure.subplots(1, len(shown), squeeze=False)[0]
            for axis, (panel, rows) in zip(axes, shown.items(), strict=True):
                for (people, lengths), colour in zip(rows.items(), COLOURS, strict=False):
                    for name, line in (("HR@1", "-"), ("HR@5", "--")):
                        values = [[each[name] for each in of_seeds] for of_seeds in lengths.values()]
                        mean = [np.mean(each) for each in values]
                        deviation = [np.std(each, ddof=1) if len(each) > 1 else 0.0 for each in values]
                        label = f"{plain(people)}, {name}"
                        x = [int(length) for length in lengths]
                        axis.errorbar(x, mean, deviation, fmt="o" + line, color=colour, label=label, capsize=3)
                axis.set_xscale("log", base=2)
                axis.set(title=panel, xlabel="context length L, events", ylabel="percent")
            axes[0].legend(frameon=False, fontsize=9)

    return draw
