"""`stap study rivals`: everybody on the same new people. Trained on seven tenths of a data set, tested on two.

Rivals know apps by name and cannot leave their data set; `gbdt`, `pure` and `stap` here train on the same people,
`stap` for fewer steps than what ships. Classical predictors and launchers' rules need no training: they are computed
once for everybody, and pooled over whoever a seed was tested on. Jobs are in the order of seeds, so that a study that
was stopped has whole seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stap.evaluate import Terms, score
from stap.events import Corpus, Moment, hour_of_day
from stap.metrics import DEEPEST, MISS, tally
from stap.predictors.base import Maker, fresh
from stap.published import PUBLISHED_MODELS
from stap.registry import maker
from stap.rivals.config import KINDS
from stap.rivals.predictor import Rivals
from stap.studies import runs
from stap.studies.experiment import Found, Job, Outcome, Scale
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Trains
from stap.studies.rivals_figures import LISTS, Population, draw, published
from stap.tally import OUTSIDE, Tally
from stap.train import trees
from stap.train.config import TrainConfig
from stap.train.people import People, split
from stap.train.presets import PRESETS

SIMPLE = ("mfu", "mru", "previous", "markov", "ppm", "blend")
LAUNCHERS = ("aosp", "kvaesitso", "kiss-frecency", "lawnchair", "gnome", "memogent", "ios", "chromeos")
TOLD = "tgt, told the hour"
TRAINED = (*KINDS, TOLD, "gbdt", "stap", "pure")
SHIPPED = {"stap, as shipped": None, "pure, as shipped": Path("pure")}
USAGES: dict[Scale, int | None] = {"paper": None, "here": 3000, "toy": 60}  # of each person at most
STEPS: dict[Scale, int] = {"paper": 1300, "here": 300, "toy": 2}  # of `stap`
TREES: dict[Scale, int] = {"paper": 300, "here": 150, "toy": 3}
ACROSS = "n/a: a rival knows apps by the names of its data set, and an app of another one has no place in it"


@dataclass(frozen=True)
class RivalTable(Trains):
    SEEDS: ClassVar[dict[Scale, int]] = {"paper": 5, "here": 5, "toy": 2}
    name: ClassVar[str] = "rivals"
    question: ClassVar[str] = "On people whom nobody trained on: how good are models that know apps by name?"

    def jobs(self) -> list[Job]:
        return [job for number in range(len(self.people)) for job in self._of(number)]

    def _of(self, number: int) -> list[Job]:
        people, usages, terms = self.people[number], USAGES[self.scale], self._terms
        jobs = [Job(f"{number}-{name}", untrained, (people, name, None, usages, terms)) for name in SIMPLE]
        for seed in self.seeds:
            for name in TRAINED:
                work = WORK.get(name, learn)
                settings = self._settings(name, seed)
                size: tuple[Any, ...] = (TREES[self.scale],) if name == "gbdt" else ()
                key = self._key(number, name, seed)
                jobs.append(Job(key, work, (people, settings, usages, terms, *size), True))
        jobs.append(Job(f"{number}-hours", hours, (people, usages)))
        jobs += [Job(f"{number}-{name}", untrained, (people, name, None, usages, terms)) for name in LAUNCHERS]
        for name, model in SHIPPED.items():
            key = self._key(number, name)
            jobs.append(Job(key, untrained, (people, "stap", model, usages, terms)))
        return jobs

    @property
    def _terms(self) -> Terms:
        model = self.recipe.base.model
        return Terms(model.context, model.vocabulary)

    def _settings(self, name: str, seed: int) -> TrainConfig:
        """At this scale; the split follows from the seed and the vocabulary alone, so it is everybody's."""
        room = self._terms.vocabulary
        if name == "pure":
            settings = self.recipe.settings(self.people[0], seed)
        elif name in ("gbdt", "stap"):
            settings = PRESETS["shipped"]
            mix = replace(settings.population, steps=STEPS[self.scale], prior_steps=STEPS[self.scale] // 8)
            if self.scale == "toy":
                mix = replace(mix, prior_people=2)
            return replace(settings, population=mix, seed=seed)
        else:
            kind = name.partition(",")[0]
            settings = PRESETS[f"{kind}-full" if self.scale == "paper" else kind]
            if self.scale == "here":
                settings = replace(settings, epochs=20, patience=4)
            elif self.scale == "toy":
                settings = replace(settings, epochs=1, rival=replace(settings.rival, dim=8, hidden=8, layers=1))
            settings = replace(settings, rival=replace(settings.rival, told_hour=name == TOLD))
            settings = replace(settings, model=replace(settings.model, vocabulary=room))
        return replace(settings, split=(7, 1, 2), seed=seed)

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        """Of whatever was found: a seed that is not there yet is left out."""
        results = {people.name: self._population(number, found) for number, people in enumerate(self.people)}
        tables = [table for population in results.values() for table in population.tables()]
        figures = {
            "populations": {name: population.figures() for name, population in results.items()},
            "across data sets": dict.fromkeys(KINDS, ACROSS),
            "as published": PUBLISHED_MODELS,
        }
        return Outcome(figures, [*tables, published(PUBLISHED_MODELS)], draw(results))

    def _population(self, number: int, found: Mapping[str, Found]) -> Population:
        corpus = self.people[number].read(USAGES[self.scale])
        tested = {seed: deal(corpus, self._settings("pure", seed)).testing.users for seed in self.seeds}
        trained = {
            name: {seed: found[key] for seed in self.seeds if (key := self._key(number, name, seed)) in found}
            for name in TRAINED
        }
        once = {
            name: found[key] for name in (*SIMPLE, *LAUNCHERS, *SHIPPED) if (key := self._key(number, name)) in found
        }
        return Population(self.people[number].name, tested, trained, once, found.get(f"{number}-hours"))

    @staticmethod
    def _key(number: int, name: str, seed: int | None = None) -> str:
        key = f"{number}-{name.replace(', ', '-').replace(' ', '-')}"
        return key if seed is None else f"{key}-{seed}"


def deal(corpus: Corpus, settings: TrainConfig) -> People:
    """7 : 1 : 2 by user, as a run with a split has them."""
    return split(corpus, replace(settings, split=(7, 1, 2)), "a study's people")


def scores(corpus: Corpus, make: Mapping[str, Maker], terms: Terms) -> Found:
    """protocol -> user -> tally; and how many answers were outside a fixed vocabulary."""
    found: Found = {}
    for protocol, own in make.items():
        counted = score(corpus, {"": own}, protocol, terms).tallies[""]
        found[protocol] = by_user(counted)
        if OUTSIDE in counted.extras:
            found[OUTSIDE] = {**found.get(OUTSIDE, {}), protocol: [counted.extras[OUTSIDE], len(counted)]}
    return found


def by_user(counted: Tally) -> dict[str, list[int]]:
    return dict(zip(counted.users, counted.counts.tolist(), strict=True))


def untrained(people: NamedPeople, name: str, model: Path | None, usages: int | None, terms: Terms) -> Found:
    """Everybody, with what is there already."""
    make = {protocol: maker(name, model, protocol=protocol) for protocol in runs.PROTOCOLS}
    return scores(people.read(usages), make, terms)


def learn(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None, terms: Terms) -> Found:
    """A rival, or the pure model, by the trainer's own split; a rival with every list of apps."""
    corpus = people.read(usages)
    lines = runs.trained(folder, corpus, settings)
    name = settings.rival.kind if settings.task == "rival" else "stap"
    make = {protocol: maker(name, folder, protocol=protocol) for protocol in runs.PROTOCOLS}
    tested = runs.testing(folder, corpus)
    found = scores(tested, make, terms) | {"epochs": len(lines), "seconds": lines[-1]["seconds"]}
    rival = make["stream"]
    if isinstance(rival, Rivals):
        found["apps"] = len(rival.apps)
        found["lists"] = {
            allowed: by_user(score(tested, {"": rival.with_list(allowed)}, "stream", terms).tallies[""])
            for allowed in LISTS
        }
    return found


def learn_ours(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None, terms: Terms) -> Found:
    """The shipped model's task on those of the split who train."""
    parts = _apart(people, settings, usages, terms)
    lines = runs.trained(folder, parts.training, settings)
    make = {protocol: maker("stap", folder, protocol=protocol) for protocol in runs.PROTOCOLS}
    return scores(parts.testing, make, terms) | {"seconds": lines[-1]["seconds"]}


def grow(
    folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None, terms: Terms, number: int
) -> Found:
    """The trees of those who train."""
    parts, file = _apart(people, settings, usages, terms), folder / "gbdt.txt"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        trees.train(parts.training, file, settings.seed, number)
    make = {protocol: maker("gbdt", ranker=file, protocol=protocol) for protocol in runs.PROTOCOLS}
    return scores(parts.testing, make, terms)


def _apart(people: NamedPeople, settings: TrainConfig, usages: int | None, terms: Terms) -> People:
    paper = replace(TrainConfig(), seed=settings.seed)
    return deal(people.read(usages), replace(paper, model=replace(paper.model, vocabulary=terms.vocabulary)))


def hours(people: NamedPeople, usages: int | None) -> Found:
    """Ours asked after each close: of whenever the next app comes, and of the moment at which it came."""
    corpus = people.read(usages)
    return {name: {str(told): asked(corpus, maker(name), told) for told in (False, True)} for name in ("blend", "stap")}


def asked(corpus: Corpus, make: Maker, told: bool) -> dict[str, list[int]]:
    """user -> tally, of the next other app: as `stream`, but asked as a launcher asks."""
    found = {}
    for user, name in enumerate(corpus.users):
        predictor, ranks = fresh(make, name), []
        start = corpus.usages(user).start
        for row, ((opened, closed), label) in enumerate(zip(corpus.events(user), corpus.labels(user), strict=True)):
            predictor.observe(opened)
            predictor.observe(closed)
            if label is not None:
                at = Moment(*((start[row + 1], hour_of_day(start[row + 1])) if told else (1e300, 0.0)))
                others = [app for app, _ in predictor.rank(DEEPEST + 1, at) if app != opened.app]
                ranks.append(others.index(label) + 1 if label in others else MISS)
        found[name] = tally(np.array(ranks, np.int32)).tolist()
    return found


WORK: dict[str, Callable[..., Found]] = {"gbdt": grow, "stap": learn_ours}
