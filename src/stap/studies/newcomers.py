"""`stap study newcomers`: a model of one day's people and apps, while new ones come. What does a fixed vocabulary cost?

A day is chosen on which a share of all usages is past. Rivals are trained on what came before it, and everybody is
asked about what came after: people who were there, and newcomers. Predictors meet each history from its beginning, as
in `stream`; only what came after the day is scored. Answers are told apart by how often the person had opened that app
before, by the months since the day, and by whether training knew app and person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from stap.describe.canvas import drawing, plain
from stap.evaluate import Ranks, stream
from stap.events import DAY, Bools, Corpus, Floats, Ints, Longs, clock
from stap.metrics import percent, tally
from stap.registry import maker
from stap.rivals.config import KINDS
from stap.rivals.predictor import Rivals
from stap.studies import runs
from stap.studies.experiment import Found, Job, Outcome, Scale
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Trains
from stap.studies.rivals import USAGES
from stap.terminal import Grid
from stap.train.config import TrainConfig
from stap.train.presets import PRESETS

SIMPLE = ("mfu", "previous", "blend", "stap")
PAST = 0.5  # of all usages are before the day
MONTH = 30 * DAY
LAUNCHES = {"1st": (0, 0), "2nd and 3rd": (1, 2), "4th to 10th": (3, 9), "later": (10, 1 << 40)}
OTHERS = {"mfu": "#bbbbbb", "previous": "#888888", "blend": "#222222", "stap": "#d55e00"}
COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
EXPLAINED = (
    "Models trained on what came before a day, asked about what came after. Left: answers by how often the person had "
    "opened that app before. Middle: by months since that day. Right: answers outside the fixed vocabulary. Dashed: "
    "rivals that may name any app they know; solid: among apps seen so far."
)


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
        day = str(clock(the_day(self.people[0].read(USAGES[self.scale]))).date())
        people = plain(self.people[0].name)
        tables = [_launches(people, day, rows), _months(people, day, rows), _outside(known)]
        figures = {"day": day, "by predictor": rows, "outside": known.get("outside", {})}
        return Outcome(figures, tables, _draw(rows, known))


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
        user = np.searchsorted(self.corpus.offsets, self.row, "right") - 1
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
    return {
        "all": tally(rank[scored]).tolist(),
        "launches": {name: tally(rank[scored & which]).tolist() for name, which in kinds.items()},
        "months": {month: tally(rank[scored & which]).tolist() for month, which in by_month.items()},
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


def _hits(seeds: list[Found], part: str, key: str) -> list[float]:
    counts = [np.array(each[part][key]) for each in seeds]
    return [float(percent(each)[0]) for each in counts if each.sum()]


def _numbers(rows: Mapping[str, list[Found]], part: str) -> dict[str, int]:
    """How many answers each column has."""
    return {key: sum(counts) for key, counts in next(iter(rows.values()))[0][part].items()}


def _table(title: str, said: str, rows: Mapping[str, list[Found]], part: str) -> Grid:
    """HR@1 by a part of the answers."""
    lines, keys = [], list(_numbers(rows, part))
    for name, seeds in rows.items():
        every = [float(percent(np.array(each["all"]))[0]) for each in seeds]
        cells = (_hits(seeds, part, key) for key in keys)
        lines.append((name, runs.spread(every), *(runs.spread(cell) if cell else "-" for cell in cells)))
    counted = ", ".join(f"{number:,}" for number in _numbers(rows, part).values())
    return Grid(title, ("predictor", "all", *keys), lines, f"HR@1, percent, {said} ({counted} answers).")


def _launches(people: str, day: str, rows: Mapping[str, list[Found]]) -> Grid:
    said = (
        "an app's first launch is out of reach of whoever ranks apps seen so far; any app: rivals that may name every "
        "app of their vocabulary; stap: the shipped weights, which were trained on UbiqLog's people; answers after "
        f"{day}, by which launch of that app by that person it is"
    )
    return _table(f"{people}: an app's first launches", said, rows, "launches")


def _months(people: str, day: str, rows: Mapping[str, list[Found]]) -> Grid:
    said = f"by months since {day}, the last day that training knew"
    return _table(f"{people}: while time goes on", said, rows, "months")


def _outside(known: Found) -> Grid:
    rows = [
        (f"{what}, {key}", f"{missed:,}", f"{number:,}", f"{100 * missed / max(1, number):.2f}")
        for what, part in known.get("outside", {}).items()
        for key, (missed, number) in part.items()
    ]
    headers = ("", "outside", "answers", "percent")
    said = "Answers whose app no training of that day knew: by months since that day, and of people known and new."
    return Grid("What a fixed vocabulary cannot say", headers, rows, said)


def _draw(rows: Mapping[str, list[Found]], known: Found) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (14, 4.8), EXPLAINED) as figure:
            left, middle, right = figure.subplots(1, 3, width_ratios=(5, 5, 3))
            for axes, part in ((left, "launches"), (middle, "months")):
                keys = list(_numbers(rows, part))
                for name, seeds in rows.items():
                    kind = name.partition(",")[0]
                    hits = [np.mean(_hits(seeds, part, key) or [np.nan]) for key in keys]
                    colour = COLOURS[KINDS.index(kind)] if kind in KINDS else OTHERS[kind]
                    form, label = ("o--", "_nolegend_") if "," in name else ("o-", name)
                    axes.plot(range(len(keys)), hits, form, color=colour, label=label, markersize=4)
                axes.set_xticks(range(len(keys)), keys)
            left.set(title="HR@1 by an app's launches", ylabel="percent", xlabel="which launch of the app it is")
            left.legend(frameon=False, fontsize=9, ncols=2)
            middle.set(title="HR@1 while time goes on", xlabel="months since that day")
            months = known.get("outside", {}).get("months", {})
            right.bar(list(months), [100 * a / max(1, n) for a, n in months.values()], color=COLOURS[0])
            right.set(title="Outside the vocabulary", ylabel="percent of answers", xlabel="months since that day")

    return draw
