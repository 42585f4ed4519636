"""`stap study phi`: the same model and people under many draws of phi. How much of a figure is the luck of the draw?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stap.describe.canvas import drawing
from stap.evaluate import report, stream
from stap.metrics import NAMES
from stap.registry import maker
from stap.studies.experiment import Experiment, Found, Job, Outcome, file_hash
from stap.studies.populations import NamedPeople
from stap.terminal import Grid

DRAWS = {"toy": 3, "here": 10, "paper": 30}
TOY = 100  # usages of each person at most
EXPLAINED = (
    "Every point is one draw of phi for everybody, the same model and the same people; the bar is the mean. What lies "
    "further apart than these points is no luck of the draw."
)


@dataclass(frozen=True)
class Phi(Experiment):
    people: tuple[NamedPeople, ...]
    model: Path
    name: ClassVar[str] = "phi"
    question: ClassVar[str] = "How much of a figure is the luck of phi's draw?"

    def about(self) -> dict[str, Any]:
        data = {people.name: people.about() for people in self.people}
        return {"data": data, "model": file_hash(self.model), "seeds": list(range(DRAWS[self.scale]))}

    def jobs(self) -> list[Job]:
        most = TOY if self.scale == "toy" else None
        return [
            Job(f"{number}-{seed}", measure, (people, self.model, seed, most))
            for number, people in enumerate(self.people)
            for seed in range(DRAWS[self.scale])
        ]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        scores = {
            people.name: {
                metric: [found[f"{number}-{seed}"][metric] for seed in range(DRAWS[self.scale])] for metric in NAMES
            }
            for number, people in enumerate(self.people)
        }
        rows = [
            (name, *(f"{np.mean(row[metric]):.2f} ± {np.std(row[metric], ddof=1):.2f}" for metric in NAMES))
            for name, row in scores.items()
        ]
        said = f"Stream protocol, percent: mean and standard deviation over {DRAWS[self.scale]} draws of phi."
        table = Grid("The same model under many draws of phi", ("people", *NAMES), rows, said)
        return Outcome({"scores": scores}, (table,), _draw(scores))


def measure(people: NamedPeople, model: Path, seed: int, most: int | None) -> Found:
    corpus = people.read(most)
    pooled = report(stream(corpus, maker("stap", model, seed=seed)), "stream")["pooled"]
    return {metric: float(pooled[metric]) for metric in NAMES}


def _draw(scores: Mapping[str, Mapping[str, list[float]]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (1 + 5 * len(scores), 5), EXPLAINED) as figure:
            axes = figure.subplots(1, len(scores), squeeze=False)[0]
            for axis, (name, row) in zip(axes, scores.items(), strict=True):
                for place, metric in enumerate(NAMES):
                    off = np.array(row[metric]) - np.mean(row[metric])
                    axis.plot(np.full(len(off), place), off, "o", color="#0072b2", alpha=0.6, markersize=8)
                    axis.plot([place - 0.3, place + 0.3], [0, 0], color="#22303f", linewidth=2)
                axis.set_xticks(range(len(NAMES)), NAMES)
                axis.set(title=name, ylabel="points from the mean")

    return draw
