"""The tables and the figure of `stap study rivals`. A difference is a winner's only where the paired test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stap.describe.canvas import drawing, plain
from stap.events import Longs
from stap.metrics import NAMES, Difference, paired, percent
from stap.rivals.config import KINDS
from stap.rivals.scene import List
from stap.studies import runs
from stap.studies.experiment import Found
from stap.tally import OUTSIDE
from stap.terminal import Grid

LISTS: dict[List, str] = {
    "seen": "seen so far",
    "installed": "ever, the future included",
    "any": "the whole vocabulary",
}
BESIDE = ("mfu", "previous", "blend", "stap")  # whom differences are given from
Users = Mapping[str, list[int]]  # a tally each
EXPLAINED = (
    "HR@1 after each close (protocol stream), mean over seeds; bars: one standard deviation. Blue: rivals with a fixed "
    "vocabulary; orange: ours and gbdt; grey: nothing trained."
)


@dataclass(frozen=True)
class Population:
    """What was found of one data set's people."""

    name: str
    tested: Mapping[int, tuple[str, ...]]  # by seed
    trained: Mapping[str, Mapping[int, Found]]  # predictor -> seed -> what its job found
    once: Mapping[str, Found]  # of everybody
    hours: Found | None

    def scores(self, protocol: str) -> dict[str, dict[int, Users]]:
        """predictor -> seed -> user -> tally, of people tested with that seed."""
        seeds = sorted({seed for of_seeds in self.trained.values() for seed in of_seeds}) or list(self.tested)
        rows: dict[str, dict[int, Users]] = {}
        for name, found in self.once.items():
            theirs = found[protocol]
            rows[name] = {seed: {user: theirs[user] for user in self.tested[seed] if user in theirs} for seed in seeds}
        for name, of_seeds in self.trained.items():
            if of_seeds:
                rows[name] = {seed: found[protocol] for seed, found in of_seeds.items()}
        return rows

    def tables(self) -> list[Grid]:
        """What the figures say, in the order of a reader's questions."""
        grids = []
        for protocol in runs.PROTOCOLS:
            grids += [self._scores(protocol), self._differences(protocol)]
        return [*grids, self._outside(), self._lists(), *([self._hours()] if self.hours else [])]

    def figures(self) -> dict[str, Any]:
        """For result.json."""
        protocols = {protocol: self.scores(protocol) for protocol in runs.PROTOCOLS}
        return {
            "tested": {str(seed): list(users) for seed, users in self.tested.items()},
            "scores": {
                protocol: {
                    name: {str(seed): pooled(users) for seed, users in row.items()} for name, row in rows.items()
                }
                for protocol, rows in protocols.items()
            },
            "differences": {protocol: _differences(rows) for protocol, rows in protocols.items()},
            "users": protocols["stream"],
        }

    def _title(self, what: str) -> str:
        return f"{plain(self.name)}: {what}"

    def _scores(self, protocol: str) -> Grid:
        rows = []
        for name, of_seeds in self.scores(protocol).items():
            each = [pooled(users) for users in of_seeds.values()]
            rows.append((name, str(len(each)), *(runs.spread([one[metric] for one in each]) for metric in NAMES)))
        said = (
            "Percent, people who are in nobody's training, 7 : 1 : 2 by user. Mean and standard deviation over seeds, "
            "each with other people. Among apps "
            f"{'seen so far' if protocol == 'stream' else 'that a person ever has'}. As shipped: those weights were "
            "trained on UbiqLog's people, so on UbiqLog they have seen who is tested."
        )
        return Grid(self._title(f"protocol {protocol}"), ("predictor", "seeds", *NAMES), rows, said)

    def _differences(self, protocol: str) -> Grid:
        found = _differences(self.scores(protocol))
        rows = [(name, *(points(row.get(other)) for other in BESIDE)) for name, row in found.items()]
        said = (
            "Points of HR@1 by which a predictor is ahead of another, on the same positions; in brackets 95 % by "
            "paired bootstrap over users. =: the test does not tell them apart."
        )
        headers = ("predictor", *(f"less {other}" for other in BESIDE))
        return Grid(self._title(f"differences, protocol {protocol}"), headers, rows, said)

    def _outside(self) -> Grid:
        rows = []
        for kind in KINDS:
            found = list(self.trained[kind].values())
            shares = [100 * each[OUTSIDE]["stream"][0] / each[OUTSIDE]["stream"][1] for each in found]
            if found:
                apps = f"{np.mean([each['apps'] for each in found]):,.0f}"
                epochs = f"{np.mean([each['epochs'] for each in found]):.1f}"
                rows.append((kind, apps, epochs, runs.spread(shares)))
        said = "Answers that no training saw: misses, counted. They are the same for every rival of a seed."
        headers = ("rival", "apps it knows", "epochs", "answers outside, percent")
        return Grid(self._title("a fixed vocabulary"), headers, rows, said)

    def _lists(self) -> Grid:
        rows = []
        for kind in KINDS:
            for allowed, words in LISTS.items():
                each = [pooled(found["lists"][allowed]) for found in self.trained[kind].values()]
                if each:
                    values = (runs.spread([one[metric] for one in each]) for metric in ("HR@1", "HR@3", "HR@5"))
                    rows.append((f"{kind}: {words}", *values))
        said = (
            "Protocol stream, percent. Which apps may be the answer: MAPLE's published lists are the second kind, "
            "which nobody has before the log ends. maple also reads the list."
        )
        return Grid(self._title("the list of apps"), ("rival: apps", "HR@1", "HR@3", "HR@5"), rows, said)

    def _hours(self) -> Grid:
        assert self.hours
        pairs: dict[str, tuple[dict[str, Longs], dict[str, Longs]]] = {}
        told = {
            seed: found for seed, found in self.trained["tgt, told the hour"].items() if seed in self.trained["tgt"]
        }
        if told:
            both = ([self.trained["tgt"][seed]["stream"] for seed in told], [each["stream"] for each in told.values()])
            pairs["tgt"] = summed(both[0]), summed(both[1])
        for name, asked in self.hours.items():
            pairs[f"{name}, the moment"] = summed([asked["False"]]), summed([asked["True"]])
        rows = []
        for name, (before, after) in pairs.items():
            users = sorted(before)
            first, second = (np.stack([part[user] for user in users]) for part in (before, after))
            values = [f"{percent(part.sum(axis=0))[0]:.2f}" for part in (first, second)]
            rows.append((name, *values, points(paired(second, first).get("HR@1"))))
        said = (
            "HR@1 of the next other app, percent. tgt: trained and asked with the hour of the app to be predicted, as "
            "published, or with that of the close before. Ours: the launch head of the shipped weights, and blend, "
            "asked of whenever it comes or of the very moment, of everybody (the shipped weights "
            "have seen UbiqLog's people in both columns)."
        )
        return Grid(self._title("knowing when the next app comes"), ("", "not told", "told", "gain"), rows, said)


def pooled(users: Users) -> dict[str, float]:
    """All predictions of these people together, in percent."""
    total = np.sum([np.zeros(6, np.int64), *(np.array(each) for each in users.values())], axis=0)
    return dict(zip(NAMES, percent(total).tolist(), strict=True))


def summed(parts: Iterable[Users]) -> dict[str, Longs]:
    """Each user over all seeds."""
    total: dict[str, Longs] = {}
    for users in parts:
        for user, counts in users.items():
            total[user] = total.get(user, np.zeros(len(counts), np.int64)) + np.array(counts)
    return total


def difference(first: Mapping[int, Users], second: Mapping[int, Users]) -> dict[str, Difference]:
    """Over the seeds that both have."""
    seeds = sorted(set(first) & set(second))
    one, other = (summed(row[seed] for seed in seeds) for row in (first, second))
    users = sorted(set(one) & set(other))
    if not users:
        return {}
    return paired(np.stack([one[user] for user in users]), np.stack([other[user] for user in users]))


def _differences(rows: Mapping[str, Mapping[int, Users]]) -> dict[str, dict[str, Difference]]:
    """predictor -> other -> HR@1."""
    found: dict[str, dict[str, Difference]] = {}
    for name, row in rows.items():
        others = {other: difference(row, rows[other]) for other in BESIDE if other in rows and other != name}
        found[name] = {other: metrics["HR@1"] for other, metrics in others.items() if metrics}
    return found


def points(found: Difference | None) -> str:
    """As a table says them; nothing is said of one person."""
    return "-" if found is None else str(found)


def published(rows: Mapping[str, Mapping[str, tuple[float, ...]]]) -> Grid:
    """Apart from ours, and marked."""
    lines = [
        (f"{people}: {name}", *(f"{value:.2f}" for value in values))
        for people, models in rows.items()
        if people.startswith("in ")
        for name, values in models.items()
    ]
    said = "As published, by others' code on other people: not to be compared digit by digit with the tables above."
    return Grid("As published, new people of the same data set", ("people: model", *NAMES), lines, said)


def draw(populations: Mapping[str, Population]) -> Callable[[Path], None]:
    """HR@1 of everybody, the best on top."""

    def draw_on(path: Path) -> None:
        shown = {name: population.scores("stream") for name, population in populations.items()}
        tall = 2.0 + 0.28 * max(len(rows) for rows in shown.values())
        with drawing(path, (7.5 * len(shown), tall), EXPLAINED) as figure:
            axes = figure.subplots(1, len(shown), squeeze=False)[0]
            for axis, (name, rows) in zip(axes, shown.items(), strict=True):
                values = {each: [pooled(users)["HR@1"] for users in row.values()] for each, row in rows.items()}
                order = sorted(values, key=lambda each: float(np.mean(values[each])))
                for place, each in enumerate(order):
                    deviation = float(np.std(values[each], ddof=1)) if len(values[each]) > 1 else 0.0
                    mean = np.mean(values[each])
                    style = {"fmt": "o", "color": _colour(each), "capsize": 3}
                    axis.errorbar(mean, place, xerr=deviation, label=f"_{each}", **style)
                axis.set_yticks(range(len(order)), order)
                axis.set(xlabel="HR@1, percent", title=f"New people of {plain(name)}")

    return draw_on


def _colour(name: str) -> str:
    kind = name.partition(",")[0]
    return "#0072b2" if kind in KINDS else "#d55e00" if kind in ("stap", "pure", "gbdt") else "#777777"
