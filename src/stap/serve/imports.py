"""Logs that are handed over: read as `stap import` reads them, kept, learned. One at a time, followed by its number."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath
from secrets import token_hex
from threading import Lock
from typing import Any

from stap import sources
from stap.demo.person import LOG as DEMO_LOG
from stap.errors import BadInput
from stap.serve.core import Core
from stap.serve.feeds.base import zone_now
from stap.serve.feeds.saying import Clock, told
from stap.serve.models import EventIn
from stap.sources import Options

FOLDER = "uploads"
PART = 5_000  # events in one commit
MOST_REMEMBERED = 100
MOST_WAITING = 8
WEEK = timedelta(weeks=1)


@dataclass
class Import:
    """One log on its way: reading, learning, done or failed."""

    number: str
    user: str
    name: str
    state: str = "reading"
    share: float = 0.0
    events: int = 0
    error: dict[str, str] | None = None
    notes: list[str] = field(default_factory=list)
    stranger: bool = False  # it failed for it is no log at all
    withdrawn: bool = False  # its user was deleted

    def told(self) -> dict[str, Any]:
        ours = ("number", "user", "name", "withdrawn")
        return {key: value for key, value in asdict(self).items() if key not in ours}


class Imports:
    """All imports since the start; the older half is forgotten when there are many."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._folder = core.settings.folder / FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)  # what a crash left
        self._jobs: dict[str, Import] = {}
        self._reading = ThreadPoolExecutor(1, "imports")
        self._handing = Lock()  # held until a part is on the disk

    def close(self) -> None:
        """What is being read is not kept: whoever handed it over still has it."""
        self.withdraw()
        self._reading.shutdown(wait=False, cancel_futures=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def place(self, user: str, name: str) -> tuple[Import, Path]:
        """A new file for what is handed over: its name says at most what kind it is."""
        if sum(job.state in ("reading", "learning") for job in self._jobs.values()) >= MOST_WAITING:
            raise BadInput("imports", f"{MOST_WAITING} are waiting", "ask again when one is done")
        ending = "".join(PurePath(name).suffixes[-2:])
        folder = self._folder / token_hex(8)
        folder.mkdir(mode=0o700, parents=True)
        job = self._noted(Import(token_hex(8), user, name))  # from now on it can be withdrawn
        return job, folder / f"{job.number}{ending if ending.isascii() and ending.replace('.', '').isalnum() else ''}"

    def begin(self, job: Import, path: Path, zone: str | None) -> str:
        """Read a file that was handed over, and remove it."""
        return self._begin(job, path, Options(zone=zone), remove=True)

    def abandon(self, job: Import, path: Path) -> None:
        """It did not come whole: what has come so far is of no use."""
        self._jobs.pop(job.number, None)
        shutil.rmtree(path.parent, ignore_errors=True)

    def demo(self, user: str) -> str:
        """The bundled person, as if their four weeks had ended now."""
        job = self._noted(Import(token_hex(8), user, DEMO_LOG.name))
        return self._begin(job, DEMO_LOG, Options(), remove=False)

    def withdraw(self, user: str | None = None) -> None:
        """No more of this user's imports, or of anybody's, is kept: they are about to be deleted."""
        for job in list(self._jobs.values()):
            job.withdrawn |= user in (None, job.user) and job.state in ("reading", "learning")
        with self._handing:  # the part that is on its way has come: it is deleted with the rest
            pass

    def told(self, user: str, number: str) -> dict[str, Any]:
        job = self._jobs.get(number)
        if job is None or job.user != user:
            raise BadInput("import", "no such import", "begin it again")
        return job.told()

    def _noted(self, job: Import) -> Import:
        for old in list(self._jobs)[: max(0, len(self._jobs) - MOST_REMEMBERED)]:
            del self._jobs[old]
        self._jobs[job.number] = job
        return job

    def _begin(self, job: Import, path: Path, options: Options, remove: bool) -> str:
        self._reading.submit(self._run, job, path, options, remove)
        return job.number

    def _run(self, job: Import, path: Path, options: Options, remove: bool) -> None:
        try:
            self._learn(job, self._read(job, path, options, recent=not remove))
            job.state, job.share = "done", 1.0
        except BadInput as error:
            job.stranger, job.error = isinstance(error, sources.NoLog), _problem(error, path, job.name)
            job.state = "failed"
        except Exception as error:
            unexpected = BadInput(job.name, f"unexpected {type(error).__name__}", "please report it")
            job.state, job.error = "failed", _problem(unexpected, path, job.name)
        finally:
            if remove:
                shutil.rmtree(path.parent, ignore_errors=True)
            self._core.hub.tell(job.user, "import", {"import": job.number, "name": job.name, **job.told()})

    def _read(self, job: Import, path: Path, options: Options, recent: bool) -> list[EventIn]:
        """The events of the one person in a log."""
        read = sources.read([path], options)
        people = read.table["user"].n_unique()
        if people > 1:
            remedy = "make a log of one of them first: stap import LOG --user NAME -o me.parquet"
            raise BadInput(job.name, f"{people} people in it", remedy)
        notes = (note.replace(str(path), job.name).replace(path.name, job.name) for note in read.notes)
        job.notes = [*notes, *([f"{read.skipped} bad rows were left out."] if read.skipped else [])]
        zone = zone_now(options.zone)

        def wanted() -> None:
            if job.withdrawn:
                raise _withdrawn(job)

        (person,) = told(read, Clock(zone, zone), datetime.now(UTC), wanted)
        if not recent or not person.events:
            return person.events
        by = (datetime.now(UTC) - person.events[-1].at) // WEEK * WEEK
        return [event.model_copy(update={"at": event.at + by}) for event in person.events]

    def _learn(self, job: Import, events: list[EventIn]) -> None:
        job.state, kept = "learning", 0
        try:
            while kept < len(events):
                part = events[kept : kept + PART]
                with self._handing:
                    if job.withdrawn:
                        raise _withdrawn(job)
                    job.events += self._core.take(job.user, part, many=True).result()
                kept += len(part)
                job.share = 0.5 * kept / len(events)
        finally:  # also where the disk is full by now: what is in the store is what is answered from
            if kept and not job.withdrawn:
                self._made_anew(job)

    def _made_anew(self, job: Import) -> None:
        """The session, from all that the store has now."""
        person = next(iter(self._core.store.people(job.user)), None)
        if person is None:
            raise _withdrawn(job)
        done, whole = 0, person.events

        def tick(steps: int) -> None:
            nonlocal done
            done += steps
            job.share = min(1.0, 0.5 + 0.5 * done / max(1, whole))

        self._core.sessions.anew(person.user, job.user, tick).result()


def _withdrawn(job: Import) -> BadInput:
    return BadInput(job.name, "everything of its user was deleted meanwhile", "hand it over again, if it was meant")


def _problem(error: BadInput, path: Path, name: str) -> dict[str, str]:
    """In words of who handed it over: the file has the name that they gave it."""
    where, why, remedy = (
        text.replace(str(path), name).replace(path.name, name) for text in (error.where, error.why, error.remedy)
    )
    if " --" in remedy:
        remedy += " (of `stap import`: hand over the file that it writes)"
    return {"where": where if error.row is None else f"{where}, row {error.row}", "why": why, "remedy": remedy}
