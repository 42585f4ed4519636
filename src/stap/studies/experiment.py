"""An experiment of the paper, from logs to a result folder: independent jobs, then what they say together.

FOLDER/study.json      which experiment, how large, on what: a folder belongs to one
FOLDER/jobs/KEY.json   what one job found; a job that is there is not done again, so a kill costs only its own jobs
FOLDER/runs/KEY        what a long job has come to, so that a kill costs a minute of it at most
FOLDER/result.json     every figure, with provenance (command, version, revision, data, seeds, seconds), tables and
                       what is drawn: all that `stap report` reads
FOLDER/result.md       the tables
FOLDER/figure.png      and .svg
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from stap import terminal
from stap.errors import BadInput
from stap.files import read_bytes, replacing
from stap.jobs import Hands, each
from stap.terminal import Grid, Tick
from stap.verdict import provenance

Scale = Literal["paper", "here", "toy"]
Found = dict[str, Any]  # what a job found, as JSON has it
LARGEST = 1 << 26  # bytes of a job's file


class Job(NamedTuple):
    """Needs nothing that another job does. `work` is a module's function, so that another process can import it."""

    key: str
    work: Callable[..., Found]
    arguments: tuple[Any, ...]
    resumes: bool = False  # its work takes FOLDER/runs/KEY first, a folder in which it goes on after a kill


@dataclass(frozen=True)
class Outcome:
    """What all jobs say together."""

    figures: Mapping[str, Any]  # for result.json
    tables: Sequence[Grid]
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Experiment(ABC):
    """`scale`: paper for a GPU and the paper's data, here for two cores and an hour, toy for a test."""

    scale: Scale
    name: ClassVar[str]
    question: ClassVar[str]

    @abstractmethod
    def jobs(self) -> list[Job]: ...

    @abstractmethod
    def outcome(self, found: Mapping[str, Found]) -> Outcome: ...

    def about(self) -> dict[str, Any]:
        """What it is about besides its scale: data and seeds. A folder with others in it is refused."""
        return {}


def carry_out(experiment: Experiment, folder: Path, processes: int = 1, cluster: str | None = None) -> Outcome:
    """Do what is not done yet, on processes of this machine or on a cluster, and write the result."""
    begun = time.time()
    about = {"study": experiment.name, "scale": experiment.scale, **experiment.about()}
    _claim(folder, about)
    jobs = experiment.jobs()
    with terminal.progress(experiment.name, len(jobs)) as tick:
        found = dict(_all(jobs, folder / "jobs", Hands(processes, cluster), tick))
    outcome = experiment.outcome({key: file["found"] for key, file in found.items()})
    whence = {
        **about,
        "question": experiment.question,
        **provenance(),
        "seconds": round(sum(file["seconds"] for file in found.values()), 1),
        "seconds_now": round(time.time() - begun, 1),
        "jobs": len(jobs),
    }
    result = {"provenance": whence, **outcome.figures, **_shown(outcome)}
    _write(folder / "result.json", json.dumps(result, indent=1) + "\n")
    _write(folder / "result.md", "\n\n".join(map(markdown, outcome.tables)) + "\n")
    for kind in ("png", "svg"):
        outcome.draw(folder / f"figure.{kind}")
    return outcome


def _shown(outcome: Outcome) -> dict[str, Any]:
    """The tables and the figure as data."""
    with tempfile.TemporaryDirectory(prefix="stap-") as folder:
        path = Path(folder) / "figure.json"
        outcome.draw(path)
        return {"tables": [table.data() for table in outcome.tables], "figure": _read(path)}


def _claim(folder: Path, about: dict[str, Any]) -> None:
    """The folder is new, empty, or that of the same experiment on the same data."""
    path = folder / "study.json"
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _write(path, json.dumps(about, indent=1) + "\n")
    elif _read(path) != json.loads(json.dumps(about)):
        raise BadInput(str(folder), "another study is in it, or the same on other data", "choose another --out")


def _all(jobs: Sequence[Job], folder: Path, hands: Hands, tick: Tick) -> Iterator[tuple[str, Found]]:
    """Every job's file, those that are there first."""
    waiting = []
    for job in jobs:
        if (path := folder / f"{job.key}.json").exists():
            tick(1)
            yield job.key, _read(path)
        else:
            waiting.append(job)
    for number, file in each([partial(_do, job, folder) for job in waiting], hands):
        yield waiting[number].key, file
        tick(1)


def _do(job: Job, folder: Path) -> Found:
    begun = time.monotonic()
    own = (folder.parent / "runs" / job.key,) if job.resumes else ()
    found = job.work(*own, *job.arguments)
    file = {"seconds": round(time.monotonic() - begun, 3), "found": found}
    _write(folder / f"{job.key}.json", json.dumps(file) + "\n")
    return file


def _read(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path, LARGEST))
    except (ValueError, RecursionError):
        raise BadInput(str(path), "damaged: no JSON", "delete it, and it is computed again") from None


def _write(path: Path, text: str) -> None:
    with replacing(path) as draft:
        draft.write_text(text)


def file_hash(path: Path) -> str:
    """The beginning of its sha256: which file a result is about."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def markdown(grid: Grid) -> str:
    """A table as a document has it."""
    head = [list(grid.headers), ["---"] * len(grid.headers)]
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [*head, *grid.rows]]
    return "\n".join([f"**{grid.title}**", "", *lines, *(["", grid.caption] if grid.caption else [])])
