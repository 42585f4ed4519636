"""`stap study vocabulary`: people with more apps than there are virtual indices.

The paper leaves them out. Here an app that has not been used for longest gives its index to the new one. What does that
cost? People with less room than they need show it, be it their own number of apps or a room made smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from stap.describe.canvas import GREY, drawing, plain
from stap.engine import EngineModel, Settings
from stap.evaluate import report, stream
from stap.metrics import NAMES
from stap.registry import Stap, maker
from stap.studies import runs
from stap.studies.experiment import Experiment, Found, Job, Outcome, file_hash
from stap.studies.populations import NamedPeople
from stap.terminal import Grid

ROOMS = (200, 100, 50, 25, 12)  # virtual indices
WHOLE = ROOMS[0]
RIVAL = "markov"
TOY = 100  # usages of each person at most
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
EXPLAINED = (
    "HR@1 of the people who have more apps than the room says, with only so many virtual indices (solid) and with all "
    f"{WHOLE} (dotted, the same people). The paper would answer none of them."
)


@dataclass(frozen=True)
class Vocabulary(Experiment):
    people: tuple[NamedPeople, ...]
    model: Path
    name: ClassVar[str] = "vocabulary"
    question: ClassVar[str] = "What do more apps than virtual indices cost?"

    def about(self) -> dict[str, Any]:
        return {"data": {each.name: each.about() for each in self.people}, "model": file_hash(self.model)}

    def jobs(self) -> list[Job]:
        most = TOY if self.scale == "toy" else None
        return [
            Job(f"{number}-{room}", measure, (people, self.model, room, most))
            for number, people in enumerate(self.people)
            for room in (*ROOMS, 0)
        ]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        results: dict[str, dict[str, Any]] = {}
        for number, people in enumerate(self.people):
            by_room = {room: found[f"{number}-{room}"] for room in (*ROOMS, 0)}
            apps, results[people.name] = by_room[0]["apps"], {}
            for room in ROOMS:
                above = [user for user, count in apps.items() if count > room]
                if above:
                    found_by = {"all": by_room[WHOLE], "room": by_room[room], RIVAL: by_room[0]}
                    scores = {
                        kind: runs.pooled(each["users"][user] for user in above) for kind, each in found_by.items()
                    }
                    results[people.name][str(room)] = {"users": len(above), **scores}
        rows = [
            (
                f"{plain(name)}, {room}",
                str(row["users"]),
                *(f"{row[kind]['HR@1']:.2f}" for kind in ("room", "all", RIVAL)),
            )
            for name, rooms in results.items()
            for room, row in rooms.items()
        ]
        headers = ("people, room", "users above", "HR@1, so much room", f"room for {WHOLE}", RIVAL)
        said = "Stream protocol, percent, of the people who have more apps than the room; the paper leaves them out."
        return Outcome({"rooms": results}, (Grid("More apps than room", headers, rows, said),), _draw(results))


def measure(people: NamedPeople, model: Path, room: int, most: int | None) -> Found:
    """Everybody's figures with so much room; room 0: the rival's, and how many apps each has."""
    corpus = people.read(most)
    make = Stap(EngineModel(model), settings=Settings(app_limit=room % WHOLE)) if room else maker(RIVAL)
    users = report(stream(corpus, make), "stream")["users"]
    kept = {user: {name: row[name] for name in ("n", *NAMES) if name in row} for user, row in users.items()}
    return {"users": kept, "apps": dict(zip(corpus.users, corpus.app_counts.tolist(), strict=True))}


def _draw(results: Mapping[str, Mapping[str, Any]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (7.5, 4.6), EXPLAINED) as figure:
            axis = figure.subplots()
            for (name, rooms), colour in zip(results.items(), COLOURS, strict=False):
                x = [int(room) for room in rooms]
                axis.plot(x, [row["room"]["HR@1"] for row in rooms.values()], "o-", color=colour, label=plain(name))
                whole = [row["all"]["HR@1"] for row in rooms.values()]
                axis.plot(x, whole, ":", color=colour, gid=f"{plain(name)}, room for {WHOLE}")
            axis.plot([], [], ":", color=GREY, label=f"the same people, room for {WHOLE}")
            axis.set_xscale("log", base=2)
            axis.set_xticks(ROOMS, list(map(str, ROOMS)))
            axis.set(xlabel="virtual indices", ylabel="HR@1, percent", title="People with more apps than room")
            axis.legend(frameon=False)

    return draw
