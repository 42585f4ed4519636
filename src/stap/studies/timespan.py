"""`stap study timespan`: a model learned from one year's phones. Is it still of use on those of years later?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stap.describe.canvas import drawing, plain
from stap.evaluate import Terms
from stap.metrics import NAMES
from stap.studies import runs
from stap.studies.experiment import Experiment, Found, Job, Outcome, file_hash
from stap.studies.populations import NamedPeople
from stap.terminal import Grid

PREDICTORS = ("previous", "markov", "blend", "stap")
COLOURS = ("#d55e00", "#009e73", "#cc79a7", "#0072b2")
TOY = 100  # usages of each person at most
EXPLAINED = (
    "HR@1 by the year in which a log begins, everybody's predictions of that year together. The model is the same for "
    "all of them, and was trained on none."
)


@dataclass(frozen=True)
class Timespan(Experiment):
    people: tuple[NamedPeople, ...]
    model: Path
    name: ClassVar[str] = "timespan"
    question: ClassVar[str] = "Is a model of one year's phones still of use years later?"

    def about(self) -> dict[str, Any]:
        return {"data": {each.name: each.about() for each in self.people}, "model": file_hash(self.model)}

    def jobs(self) -> list[Job]:
        most = TOY if self.scale == "toy" else None
        return [
            Job(f"{number}-{name}", measure, (people, name, self.model, most))
            for number, people in enumerate(self.people)
            for name in PREDICTORS
        ]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        groups: dict[str, dict[str, list[runs.Person]]] = {}  # people and year -> predictor -> persons
        for number, people in enumerate(self.people):
            for name in PREDICTORS:
                for person in found[f"{number}-{name}"].values():
                    row = groups.setdefault(f"{people.name}, {person['year']}", {})
                    row.setdefault(name, []).append(person)
        scores = {
            title: {name: runs.pooled(persons) for name, persons in row.items()}
            for title, row in sorted(groups.items())
        }
        counts = {title: len(groups[title]["stap"]) for title in scores}
        rows = [
            (f"{plain(title)}: {name}", str(counts[title]), *(f"{figures[metric]:.2f}" for metric in NAMES))
            for title, row in scores.items()
            for name, figures in row.items()
        ]
        said = "Stream protocol, percent, by the year in which a log begins."
        table = Grid("One model on logs of different years", ("people, year: predictor", "users", *NAMES), rows, said)
        return Outcome({"scores": scores, "users": counts}, (table,), _draw(scores))


def measure(people: NamedPeople, name: str, model: Path, most: int | None) -> Found:
    """Everybody's figures, and the year in which their log begins."""
    corpus = people.read(most)
    begin = corpus.start[corpus.offsets[:-1]].astype("int64").astype("datetime64[m]").astype("datetime64[Y]")
    year = dict(zip(corpus.users, (begin.astype(np.int64) + 1970).tolist(), strict=True))
    persons = runs.persons(corpus, name, "stream", Terms(), model)
    return {user: figures | {"year": year[user]} for user, figures in persons.items()}


def _draw(scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (3 + 1.5 * len(scores), 4.6), EXPLAINED) as figure:
            axis = figure.subplots()
            for place, (name, colour) in enumerate(zip(PREDICTORS, COLOURS, strict=True)):
                at = np.arange(len(scores)) + (place - 1.5) * 0.2
                axis.bar(at, [row[name]["HR@1"] for row in scores.values()], 0.18, color=colour, label=name)
            axis.set_xticks(range(len(scores)), [plain(title).replace(", ", "\n") for title in scores])
            axis.set(ylabel="HR@1, percent", title="The same model, other years")
            axis.legend(frameon=False, ncols=2)

    return draw
