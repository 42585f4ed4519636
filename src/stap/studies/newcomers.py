"""`stap study newcomers`: a model of one day's people and apps, while new ones come. What does a fixed vocabulary cost?

A day is chosen on which a share of all usages is past. Rivals are trained on what came before it, and everybody is
asked about what came after: people who were there, and newcomers. Predictors meet each history from its beginning, as
in `stream`; only what came after the day is scored. Answers are told apart by how often the person had opened that app
before, by the months since the day, and by whether training knew app and person. People are asked alike, so differences
between predictors are tested by the paired bootstrap over users, of those whom training knew and of newcomers apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from stap.describe.canvas import plain
from stap.evaluate import Ranks, stream
from stap.events import DAY, Bools, Corpus, Floats, Ints, Longs, clock
from stap.metrics import tally
from stap.registry import maker
from stap.rivals.config import KINDS
from stap.rivals.predictor import Rivals
from stap.studies import runs
from stap.studies.experiment import Found, Job, Outcome, Scale
from stap.studies.newcomers_figures import acquaintance, draw, groups, launches, months, outside
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Trains
from stap.studies.rivals import USAGES
from stap.train.config import TrainConfig
from stap.train.presets import PRESETS

SIMPLE = ("mfu", "previous", "blend", "stap")
PAST = 0.5  # of all usages are before the day
MONTH = 30 * DAY
LAUNCHES = {"1st": (0, 0), "2nd and 3rd": (1, 2), "4th to 10th": (3, 9), "later": (10, 1 << 40)}


@dataclass(frozen=True)
class Newcomers(Trains):
    SEEDS: ClassVar[dict[Scale, int]] = {"paper": 5, "here": 1, "toy": 1}
    name: ClassVar[str] = "newcomers"
    question: ClassVar[str] = "What does a fixed vocabulary cost while new apps and new people come?"

    def jobs(self) -> list[Job]:
        people, usages = self.people[0], USAGES[self.scale]
        jobs = [Job(name, untrained, (people, name, usages)) for name in SIMPLE]
        for seed in self.seeds:
            jobs += [Job(f"{kind}-{seed}", learn, (people, self._settings(kind, seed), usages), True) for kind in KINDS]
        return jobs

    def _settings(self, kind: str, seed: int) -> TrainConfig:
        settings = PRESETS[f"{kind}-full" if self.scale == "paper" else kind]
        if self.scale == "toy":
            settings = replace(settings, epochs=1, rival=replace(settings.rival, dim=8, hidden=8, layers=1))
        return replace(settings, seed=seed, model=replace(settings.model, vocabulary=self.recipe.base.model.vocabulary))

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        rows = {name: [found[name]] for name in SIMPLE if name in found}
        for kind in KINDS:
            seeds = [found[key] for seed in self.seeds if (key := f"{kind}-{seed}") in found]
            if seeds:
                rows[kind] = [each["seen"] for each in seeds]
                rows[f"{kind}, any app"] = [each["any"] for each in seeds]
        known = next((found[f"{kind}-0"] for kind in KINDS if f"{kind}-0" in found), {})
        corpus = self.people[0].read(USAGES[self.scale])
        midnight = the_day(corpus)
        day, people = str(clock(midnight).date()), plain(self.people[0].name)
        grouped = groups(rows, set(before(corpus, midnight).users))
        tables = [
            launches(people, day, rows),
            months(people, day, rows),
            acquaintance(people, grouped),
            outside(known),
        ]
        nameless = {name: [{**each, "users": {}} for each in seeds] for name, seeds in rows.items()}
        figures = {"day": day, "by predictor": nameless, "outside": known.get("outside", {})}
        return Outcome(figures, tables, draw(rows, known))


def the_day(corpus: Corpus) -> float:
    """The midnight after which the last share of all usages begins."""
    return float(np.ceil(np.quantile(corpus.start, PAST) / DAY) * DAY)


def before(corpus: Corpus, day: float) -> Corpus:
    """What a training of that day could know; people with a single usage are of no use to it."""
    people = []
    for user, names, log in corpus.people():
        past = log.take(log.end < day)
        if len(past.app) > 1:
            first = list(dict.fromkeys(past.app.tolist()))
            people.append((user, tuple(names[code] for code in first), past.renumbered()))
    return Corpus.of(people)


@dataclass(frozen=True)
class Answers:
    """Every answer that is scored: the next app after each close whose open is after the day."""

    corpus: Corpus
    day: float

    @property
    def row(self) -> Longs:
        """(n,) the usage whose app is the answer."""
        last = np.zeros(len(self.corpus.app), bool)
        last[self.corpus.offsets[1:] - 1] = True
        return np.flatnonzero(~last) + 1

    @property
    def user(self) -> Longs:
        user: Longs = np.searchsorted(self.corpus.offsets, self.row, "right") - 1
        return user

    @property
    def scored(self) -> Bools:
        return self.corpus.start[self.row] >= self.day

    @property
    def times(self) -> Longs:
        """How often the person had opened the app before."""
        times = np.zeros(len(self.corpus.app), np.int64)
        for user in range(len(self.corpus.users)):
            rows, seen = self.corpus.rows(user), np.zeros(len(self.corpus.apps[user]), np.int64)
            for row, code in enumerate(self.corpus.app[rows].tolist(), rows.start):
                times[row] = seen[code]
                seen[code] += 1
        return times[self.row]

    @property
    def months(self) -> Longs:
        months: Floats = (self.corpus.start[self.row] - self.day) // MONTH
        return months.astype(np.int64)

    def unknown(self, past: Corpus) -> tuple[Bools, Bools]:
        """Whether app and person are outside of what training knew."""
        apps, users = {name for names in past.apps for name in names}, set(past.users)
        user = self.user
        outside = [np.array([name not in apps for name in names], bool) for names in self.corpus.apps]
        app = np.array([outside[u][code] for u, code in zip(user, self.corpus.app[self.row], strict=True)], bool)
        return app, np.array([name not in users for name in self.corpus.users], bool)[user]


def untrained(people: NamedPeople, name: str, usages: int | None) -> Found:
    corpus = people.read(usages)
    return told(Answers(corpus, the_day(corpus)), _closes(stream(corpus, maker(name))))


def learn(folder: Path, people: NamedPeople, settings: TrainConfig, usages: int | None) -> Found:
    corpus = people.read(usages)
    answers = Answers(corpus, the_day(corpus))
    past = before(corpus, answers.day)
    runs.trained(folder, past, settings)
    rival = maker(settings.rival.kind, folder)
    assert isinstance(rival, Rivals)
    lists = {"seen": rival, "any": rival.with_list("any")}
    found: Found = {name: told(answers, _closes(stream(corpus, each))) for name, each in lists.items()}
    app, person = answers.unknown(past)
    return found | {"outside": _shares(answers, app, person)}


def _closes(ranks: Ranks) -> Ints:
    return ranks.rank[~ranks.opened]


def told(answers: Answers, rank: Ints) -> Found:
    """The tallies of kinds of answers."""
    scored, times, months = answers.scored, answers.times, answers.months
    kinds = {name: (low <= times) & (times <= high) for name, (low, high) in LAUNCHES.items()}
    by_month = {str(month): months == month for month in np.unique(months[scored]).tolist()}
    names = np.array(answers.corpus.users)[answers.user]
    return {
        "all": tally(rank[scored]).tolist(),
        "launches": {name: tally(rank[scored & which]).tolist() for name, which in kinds.items()},
        "months": {month: tally(rank[scored & which]).tolist() for month, which in by_month.items()},
        "users": {name: tally(rank[scored & (names == name)]).tolist() for name in np.unique(names[scored]).tolist()},
    }


def _shares(answers: Answers, app: Bools, person: Bools) -> Found:
    """[answers outside the vocabulary, answers] by months, and by whether the person is new."""
    scored, months = answers.scored, answers.months

    def counted(which: Bools) -> list[int]:
        return [int((app & which).sum()), int(which.sum())]

    return {
        "months": {str(month): counted(scored & (months == month)) for month in np.unique(months[scored]).tolist()},
        "people": {"known": counted(scored & ~person), "new": counted(scored & person)},
    }
