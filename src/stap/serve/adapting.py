"""Personal adaptation by itself: when nobody has sent anything for a while, for somebody whose history has grown.

A process of its own does the work, with the lowest priority. What it makes is used only where it proved better on what
was held back; the shared model stays, so one can go back at any time.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

from stap.errors import BadInput
from stap.files import read_bytes, replacing
from stap.serve.core import Core

LOOK = 60.0  # seconds between two looks
IDLE = 600.0  # seconds without an event
LEAST = 4_000  # events of a history that is worth it
GROWN = 1.5  # times as long as when it was tried last
LONGEST = 3_600  # seconds that it may take
COMMAND = (sys.executable, "-P", "-m", "stap.serve.adaptation")  # -P: nothing of the current folder
RECORD = "adaptation.json"


def wanted(asked: bool | None) -> bool:
    """Whether a server adapts: as it is told; where nothing was said, wherever what it needs is installed."""
    able = find_spec("torch") is not None
    if asked and not able:
        raise BadInput("--adapt", "needs torch, which is not installed", "pip install 'stap[train]'")
    return able if asked is None else asked


class Adapting:
    """Looks for somebody to adapt to, now and then; and what came of it."""

    def __init__(self, core: Core, on: bool) -> None:
        self._core, self._on, self._stop = core, on, Event()
        self._path = core.settings.folder / RECORD
        self._tried: dict[str, dict[str, Any]] = _read(self._path)  # by the number of the user
        self._process: subprocess.Popen[str] | None = None
        self._thread = Thread(target=self._run, name="adapting", daemon=True)

    def start(self) -> None:
        if self._on:
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._process is not None:
            self._process.kill()
        if self._on:
            self._thread.join(timeout=5.0)

    def told(self) -> dict[str, Any] | None:
        """For the status: how many have a model of their own, and how often it was tried."""
        adapted = self._core.brains.adapted
        return {"users": len(adapted), "tried": len(self._tried)} if adapted or self._tried else None

    def told_of(self, name: str) -> dict[str, Any]:
        """How it is with one person: what was gained, in guesses that were right of a hundred."""
        user = self._core.user(name)
        tried = self._tried.get(str(user), {})
        own = user in self._core.brains.adapted
        proof = {name: tried.get(f"launch_{name}") if own else None for name in ("before", "after", "tail")}
        declined, done = bool(tried.get("declined")), "events" in tried
        return {"on": self._on, "adapted": own, "tried": done, "declined": declined, **proof}

    def back(self, name: str) -> bool:
        """The shared model answers from now on, until the person wants it otherwise; whether another one did."""
        user = self._core.user(name)
        had = self._core.brains.drop(user)
        if had:
            self._note(user, {**self._tried.get(str(user), {}), "declined": True})
            self._core.sessions.anew(user, name).add_done_callback(lambda _: self._core.hub.poke(name))
        return had

    def again(self, name: str) -> None:
        """It may be tried anew, at the next idle time."""
        self._note(self._core.user(name), {})

    def tidy(self) -> None:
        """Nothing is noted of those who were deleted."""
        known = {str(person.user) for person in self._core.store.people()}
        self._tried = {user: entry for user, entry in self._tried.items() if user in known}
        self._write()

    def attempt(self, name: str) -> dict[str, Any]:
        """Adapt to somebody now; what was found."""
        user, core = self._core.user(name), self._core
        events = core.store.people(name)[0].events
        draft = core.brains.draft(user)
        arguments = (str(core.settings.folder), str(user), str(core.brains.path), str(draft))
        found = self._asked(arguments)
        if self._there(name, user) and found["helps"] and draft.exists():
            core.brains.adopt(user)
            core.sessions.anew(user, name).result()
        draft.unlink(missing_ok=True)
        if self._there(name, user) and not self._stop.is_set():  # what the server's end broke off was not tried
            self._note(user, {"events": events, **found})
            core.hub.poke(name)
        return found

    def _there(self, name: str, user: int) -> bool:
        """Whether somebody was not deleted meanwhile."""
        return self._core.names.user(name) == user

    def _asked(self, arguments: tuple[str, ...]) -> dict[str, Any]:
        """What the process found; its standard input stays open, for that is how it hears that we are gone."""
        pipe = subprocess.PIPE
        with subprocess.Popen((*COMMAND, *arguments), stdin=pipe, stdout=pipe, text=True) as process:
            self._process = process
            assert process.stdout is not None
            try:
                process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                return {"helps": False, "why": "it took too long"}
            return _answer(process.stdout.read())

    def _run(self) -> None:
        while not self._stop.wait(LOOK):
            with suppress(BadInput, OSError, sqlite3.Error):  # a full disk, somebody deleted: another time
                name = self._due() if monotonic() - self._core.busy > IDLE else None
                if name is not None:
                    self.attempt(name)

    def _due(self) -> str | None:
        for person in self._core.store.people():
            tried = self._tried.get(str(person.user), {})
            if not tried.get("declined") and person.events >= max(LEAST, GROWN * tried.get("events", 0)):
                return person.name
        return None

    def _note(self, user: int, entry: dict[str, Any]) -> None:
        self._tried = {**self._tried, str(user): entry}
        self._write()

    def _write(self) -> None:
        with replacing(self._path, private=True) as file:
            file.write_text(json.dumps(self._tried))


def _answer(text: str) -> dict[str, Any]:
    """The last line of the process; nothing where it was killed."""
    try:
        found: dict[str, Any] = json.loads(text.splitlines()[-1])
        return found
    except (ValueError, IndexError):
        return {"helps": False, "why": "it ended early; is `stap[train]` installed?"}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(read_bytes(path, 1 << 20)) if path.exists() else {}
        return {str(user): dict(entry) for user, entry in found.items()}
    except (BadInput, ValueError, TypeError, AttributeError):
        return {}
