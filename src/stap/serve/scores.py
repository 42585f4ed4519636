"""Hit rates by day, as they are known: counted by a process of their own, when somebody looks at them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

from stap.serve.brains import Brains
from stap.serve.scoring import DEPTHS, NAMES
from stap.serve.store import Store
from stap.serve.writer import Writer

MOST_DAYS = 365
COMMAND = (sys.executable, "-P", "-m", "stap.serve.scoring")  # -P: nothing of the current folder


class Scores:
    """What is known of everybody's hits, and the process that counts them."""

    def __init__(self, store: Store, writer: Writer, brains: Brains) -> None:
        self._store, self._writer, self._brains = store, writer, brains
        self._counting = ThreadPoolExecutor(1, "scores")
        self._process: subprocess.Popen[str] | None = None
        self._running: dict[int, Future[None]] = {}
        self._scored: dict[int, tuple[int, int, str]] = {}  # what was the newest then, and of which making
        self._lock, self._closed = Lock(), False

    def told(self, user: int, name: str) -> dict[str, list[dict[str, Any]]]:
        """As statistics have it. What is not counted yet will be, the next time one looks."""
        self.count(user, name)
        found = self._store.read(
            "SELECT day, counts FROM hits WHERE user = ? ORDER BY day DESC LIMIT ?", user, MOST_DAYS
        )
        days = [(day, json.loads(counts)) for day, counts in reversed(found)]
        return {f"hits{'' if depth == 1 else depth}": [_day(*day, depth) for day in days] for depth in DEPTHS}

    def count(self, user: int, name: str) -> Future[None] | None:
        """Begin to count what is new, unless that goes on."""
        with self._lock:
            going = self._running.get(user)
            if going is not None and not going.done():
                return going
            wanted = (self._store.newest(user), self._store.epoch(user), self._brains.of(user)[1])
            if self._scored.get(user) == wanted:
                return None
            self._running[user] = self._counting.submit(self._count, user, name, wanted)
            return self._running[user]

    def drop(self, user: int) -> None:
        with self._lock:
            self._scored.pop(user, None)

    def close(self) -> None:
        """Without its process nobody waits for an answer, so that the thread ends too: it reads the store."""
        with self._lock:
            self._closed = True
        if self._process is not None:
            self._process.kill()
        self._counting.shutdown(cancel_futures=True)
        if self._process is not None:
            _end(self._process)

    def _count(self, user: int, name: str, wanted: tuple[int, int, str]) -> None:
        last = self._store.read("SELECT max(day) FROM hits WHERE user = ?", user)[0][0]
        question = {
            "folder": str(self._store.path.parent),
            "user": user,
            "name": name,
            "model": str(self._brains.file_of(user)),
            "since": last or "",
            "known": wanted[1:],
        }
        days = self._asked(question)
        if days is None:
            return
        rows = [(user, day, json.dumps(counts)) for day, counts in days.items()]
        write = "INSERT OR REPLACE INTO hits (user, day, counts) SELECT ?1, ?2, ?3 WHERE ?1 IN (SELECT user FROM users)"
        self._writer.submit(lambda db: db.executemany(write, rows)).result()
        with self._lock:
            self._scored[user] = wanted

    def _asked(self, question: dict[str, Any]) -> dict[str, dict[str, int]] | None:
        """The process's answer; None where it was killed, and the next one will be asked."""
        with self._lock:
            if self._closed:
                return None
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            answer: dict[str, dict[str, int]] = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            _end(process)
            return None
        return answer


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _day(day: str, counts: dict[str, int], depth: int) -> dict[str, Any]:
    n = counts["n"]
    return {"day": day, "n": n} | {name: round(counts.get(f"{name}{depth}", 0) / n, 4) for name in NAMES}
