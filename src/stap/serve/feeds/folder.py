"""A watched folder: exports of any format that `stap import` reads, put there whenever, read when they are whole.

Files in the folder are the person's; those in a folder inside are of the user it names. A file is read when it has not
changed between two looks, and again whenever it has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from threading import Event

from stap import terminal
from stap.errors import BadInput
from stap.serve.feeds.base import Outbox, Polled, user_named, zone_now
from stap.serve.feeds.marks import Marks
from stap.serve.feeds.saying import AWAY, Clock, told
from stap.sources import Options, read
from stap.usage import table_of

EVERY = 5.0  # seconds
MOST_FILES = 10_000


class Folder(Polled):
    def __init__(self, user: str, marks: Marks, path: Path, zone: str | None = None, every: float = EVERY) -> None:
        super().__init__("folder", every, marks)
        if not path.is_dir():
            raise BadInput(f"--feed folder:{path}", "no such folder", "make it, or check its name")
        self._path, self._user, self._zone = path, user, zone
        self._seen: dict[str, str] = {}  # how each file looked last time
        self._due: dict[str, datetime] = {}  # when a close that was not settled will be
        zone_now(zone)

    def look(self, out: Outbox, stop: Event) -> None:
        files = dict(self._files())
        self._due = {name: due for name, due in self._due.items() if name in files}
        for name, (path, looks) in files.items():
            whole = self._seen.get(name) == looks
            due = name in self._due and self.now() >= self._due[name]
            if whole and (due or self.marks[name] != looks) and not stop.is_set():
                self._take(out, name, path)
                self.marks.put(name, looks)
        self._seen = {name: looks for name, (_, looks) in files.items()}

    def _files(self) -> Iterator[tuple[str, tuple[Path, str]]]:
        """Each by its name in the folder, with what tells whether it has changed. Hidden ones are being written."""
        found = 0
        for folder, folders, names in os.walk(self._path):
            below = folder != str(self._path)
            folders[:] = [] if below else sorted(each for each in folders if not each.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                if name.startswith(".") or table_of(path) is not None or not path.is_file():
                    continue
                found += 1
                if found > MOST_FILES:
                    raise BadInput(str(self._path), f"more than {MOST_FILES:,} files", "take out those that were read")
                status = path.stat()
                if status.st_size:
                    yield str(path.relative_to(self._path)), (path, f"{status.st_mtime_ns} {status.st_size}")

    def _take(self, out: Outbox, name: str, path: Path) -> None:
        """A file that cannot be read is said, and left until it changes."""
        user = self._user if path.parent == self._path else user_named(path.parent.name)
        zone, now = zone_now(self._zone), self.now()
        try:
            found = read([path], Options(zone=self._zone, as_user=user))
        except BadInput as error:
            terminal.note(f"feed folder: {error}")
            return
        self._due.pop(name, None)
        for each in told(found, Clock(zone, zone), now):
            out.deliver(each.user, each.events)
            if each.until is not None and now - 2 * AWAY < each.until <= now:
                self._due[name] = each.until + 2 * AWAY
