"""`stap study performance`: who predicts whom how well. Trained on A, tested on all of B; and within A, on new people.

Every predictor answers at the same positions. The classical ones need no training, so they are computed once for
everybody, and pooled over whoever a run was tested on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from stap.describe.canvas import drawing
from stap.evaluate import Terms
from stap.metrics import NAMES, Difference
from stap.published import PUBLISHED, PUBLISHED_MODELS
from stap.studies import runs
from stap.studies.experiment import Found, Job, Outcome, Scale
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Trains
from stap.studies.rivals_figures import difference
from stap.terminal import Grid
from stap.train.config import TrainConfig

CLASSICAL = ("previous", "mfu", "mru", "markov", "ppm", "blend")
MODEL = "stap"
Persons = Mapping[str, runs.Person]
LEAST = 10  # people for 7 : 1 : 2
COLOURS = {"previous": "#d55e00", "markov": "#009e73", "blend": "#cc79a7", MODEL: "#0072b2"}
EXPLAINED = (
    "HR@1 of the model (mean over seeds, bars: one standard deviation) beside three classical predictors, on the same "
    "positions. A -> B: trained on A, tested on all of B, whom it never saw. In A: tested on a fifth of its people."
)


@dataclass(frozen=True)
class Performance(Trains):
    SEEDS: ClassVar[dict[Scale, int]] = {"paper": 5, "here": 5, "toy": 2}
    name: ClassVar[str] = "performance"
    question: ClassVar[str] = "Trained on some people, how well does it predict others?"

    def jobs(self) -> list[Job]:
        jobs, recipe = [], self.recipe
        for number, people in enumerate(self.people):
            settings = recipe.settings(people, 0)
            terms = Terms(settings.model.context, settings.model.vocabulary)
            jobs.append(Job(f"classical-{number}", classical, (people, recipe.usages, terms)))
            others = tuple(each for each in self.people if each is not people)
            for seed in self.seeds:
                settings = recipe.settings(people, seed)
                across = replace(settings, split=(8, 2))
                jobs.append(Job(f"across-{number}-{seed}", learn, (people, others, across, recipe.usages), True))
                if self._within(people):
                    within = replace(settings, split=(7, 1, 2))
                    jobs.append(Job(f"within-{number}-{seed}", learn, (people, (), within, recipe.usages), True))
        return jobs

    def _within(self, people: NamedPeople) -> bool:
        return len(people.read().users) >= LEAST

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        results = {protocol: self._settings(found, protocol) for protocol in runs.PROTOCOLS}
        tables = [_table(protocol, rows, len(self.seeds)) for protocol, rows in results.items()]
        few = [each.name for each in self.people if not self._within(each)]
        notes = dict.fromkeys(few, f"fewer than {LEAST} people: no split 7:1:2")
        published = {**{f"any -> {name}": rows for name, rows in PUBLISHED.items()}, **PUBLISHED_MODELS}
        tested = {protocol: self._differences(found, protocol) for protocol in runs.PROTOCOLS}
        tables += [_tested(protocol, rows) for protocol, rows in tested.items()]
        tables.append(_published(published))
        figures = {"scores": results, "differences": tested, "left out": notes, "as published": published}
        return Outcome(figures, tables, _draw(results["stream"]))

    def _settings(self, found: Mapping[str, Found], protocol: str) -> dict[str, dict[str, list[dict[str, float]]]]:
        """setting -> predictor -> figures of every seed; the classical ones differ only where the people do."""
        rows: dict[str, dict[str, list[dict[str, float]]]] = {}
        for title, target, tested in self._tested(found, protocol):
            simple = found[f"classical-{target}"][protocol]
            rows[title] = {name: _pooled(simple[name], tested) for name in CLASSICAL}
            rows[title][MODEL] = [runs.pooled(each.values()) for each in tested]
        return rows

    def _tested(self, found: Mapping[str, Found], protocol: str) -> Iterator[tuple[str, int, list[Persons]]]:
        """Every setting: its title, whose number it was tested on, and the model's figures of everybody by seed."""
        for number, source in enumerate(self.people):
            for place, target in enumerate(self.people):
                inside = target is source
                if inside and not self._within(source):
                    continue
                kind = "within" if inside else "across"
                tested = [found[f"{kind}-{number}-{seed}"][protocol][target.name] for seed in self.seeds]
                yield f"in {source.name}" if inside else f"{source.name} -> {target.name}", place, tested

    def _differences(self, found: Mapping[str, Found], protocol: str) -> dict[str, dict[str, Difference]]:
        """setting -> who else was asked at the same positions -> HR@1 of the model less theirs, over users."""
        settings = list(self._tested(found, protocol))
        every = {title: (target, _hits(tested)) for title, target, tested in settings}
        rows: dict[str, dict[str, Difference]] = {}
        for title, target, tested in settings:
            own, simple = every[title][1], found[f"classical-{target}"][protocol]
            others = {
                name: _hits([{user: simple[name][user] for user in each} for each in tested]) for name in CLASSICAL
            }
            if not title.startswith("in "):
                others |= {
                    f"{MODEL}, {other}": hits
                    for other, (whose, hits) in every.items()
                    if whose == target and other != title and not other.startswith("in ")
                }
            told = {name: difference(own, hits) for name, hits in others.items()}
            rows[title] = {name: metrics["HR@1"] for name, metrics in told.items() if metrics}
        return rows


def _hits(tested: Iterable[Persons]) -> dict[int, dict[str, list[int]]]:
    """seed -> user -> a tally that knows first choices alone."""
    return {
        seed: {
            user: [hits := round(row["n"] * row["HR@1"] / 100), 0, 0, 0, 0, round(row["n"]) - hits]
            for user, row in users.items()
            if row["n"]
        }
        for seed, users in enumerate(tested)
    }


def _pooled(simple: Mapping[str, runs.Person], tested: Iterable[Mapping[str, runs.Person]]) -> list[dict[str, float]]:
    return [runs.pooled(simple[user] for user in each) for each in tested]


def classical(people: NamedPeople, usages: int | None, terms: Terms) -> Found:
    """protocol -> predictor -> user -> figures."""
    corpus = people.read(usages)
    return {
        protocol: {name: runs.persons(corpus, name, protocol, terms) for name in CLASSICAL}
        for protocol in runs.PROTOCOLS
    }


def learn(
    folder: Path, people: NamedPeople, others: tuple[NamedPeople, ...], settings: TrainConfig, usages: int | None
) -> Found:
    """Train on some of these people; test on everybody of the others, or on who was kept for testing."""
    corpora = {each.name: each.read(usages) for each in (people, *others)}
    lines = runs.trained(folder, corpora[people.name], settings)
    if not others:
        corpora = {people.name: runs.testing(folder, corpora[people.name])}
    else:
        del corpora[people.name]
    terms = Terms(settings.model.context, settings.model.vocabulary)
    found: Found = {"events": lines[-1]["events"]}
    for protocol in runs.PROTOCOLS:
        found[protocol] = {
            name: runs.persons(corpus, MODEL, protocol, terms, folder) for name, corpus in corpora.items()
        }
    return found


def _table(protocol: str, rows: Mapping[str, Mapping[str, list[dict[str, float]]]], seeds: int) -> Grid:
    lines = [
        (f"{title}: {name}", *(runs.spread(_distinct([each[metric] for each in of_seeds])) for metric in NAMES))
        for title, predictors in rows.items()
        for name, of_seeds in predictors.items()
    ]
    said = f"Percent. Mean and standard deviation over {seeds} seeds; no deviation where no seed changes anything."
    return Grid(f"Protocol {protocol}", ("trained -> tested: predictor", *NAMES), lines, said)


def _tested(protocol: str, rows: Mapping[str, Mapping[str, Difference]]) -> Grid:
    lines = [(title, name, str(found)) for title, others in rows.items() for name, found in others.items()]
    said = (
        "Points of HR@1 by which the model is ahead, all seeds together; in brackets 95 % by paired bootstrap over "
        "users. =: the test does not tell them apart."
    )
    headers = ("trained -> tested", f"{MODEL}, less", "HR@1")
    return Grid(f"Differences, protocol {protocol}", headers, lines, said, headers[:2])


def _distinct(values: list[float]) -> list[float]:
    return values if len(set(values)) > 1 else values[:1]


def _published(rows: Mapping[str, Mapping[str, tuple[float, ...]]]) -> Grid:
    lines = [
        (f"{people}: {name}", *(f"{value:.2f}" for value in values))
        for people, predictors in rows.items()
        for name, values in predictors.items()
    ]
    said = "Other people and other logs than above: to stand beside it, not to be compared digit by digit."
    return Grid("As published, paper protocol", ("trained -> tested: predictor", *NAMES), lines, said)


def _draw(rows: Mapping[str, Mapping[str, list[dict[str, float]]]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (9, 1.8 + 0.7 * len(rows)), EXPLAINED) as figure:
            axis = figure.subplots()
            for place, predictors in enumerate(rows.values()):
                for row, (name, colour) in enumerate(COLOURS.items()):
                    values = [each["HR@1"] for each in predictors[name]]
                    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
                    marker = "s" if name == MODEL else "o"
                    label = name if not place else None
                    at = place + (row - 1.5) * 0.16
                    axis.errorbar(
                        np.mean(values),
                        at,
                        xerr=deviation,
                        fmt=marker,
                        color=colour,
                        markersize=7,
                        capsize=3,
                        label=label,
                    )
            axis.set_yticks(range(len(rows)), rows)
            axis.invert_yaxis()
            axis.set(xlabel="HR@1, percent, stream protocol", title="Who predicts whom how well")
            axis.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.06))

    return draw
