"""The one who writes: everything that waits is put on the disk together, and answered when it is there.

A commit waits for the disk for milliseconds. So that many clients do not wait one after the other, the requests that
arrive during one commit share the next. What SQLite's log has gathered goes into the file itself on another thread:
that takes tens of milliseconds, and nobody has to wait for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Queue
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, TypeVar

from stap.errors import BadInput
from stap.serve.store import ENDING, Store

MOST_TOGETHER = 512  # requests in one commit
MOVED_AFTER = 256  # commits, some megabytes of log
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class Unwritten(BadInput):
    """The disk did not take it: nothing was kept, and whoever asked may ask again."""


class _Task(NamedTuple):
    work: Work[Any]
    then: Callable[[Any], None] | None
    done: Future[Any]


class Writer:
    """A thread with the only connection that writes. Each piece of work is kept whole, or not at all."""

    def __init__(self, store: Store) -> None:
        self._where = str(store.path)
        self._db = store.writing()
        self._log = _Log(store)
        self._tasks: Queue[_Task | None] = Queue()
        self._lock, self._closed = Lock(), False
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T], then: Callable[[T], None] | None = None) -> Future[T]:
        """Done when it is on the disk. `then` is called before that is said, in the order of the commits."""
        done: Future[T] = Future()
        done.set_running_or_notify_cancel()  # a client that leaves ends nothing
        with self._lock:
            if self._closed:  # nobody would ever answer
                done.set_exception(Unwritten(self._where, *ENDING))
            else:
                self._tasks.put(_Task(work, then, done))
        return done

    def close(self) -> None:
        """What was asked for until now is still done, and what comes later is refused."""
        with self._lock:
            self._closed = True
            self._tasks.put(None)
        self._thread.join()
        self._log.close()
        self._db.close()

    def _run(self) -> None:
        while (first := self._tasks.get()) is not None:
            together = [first]
            while len(together) < MOST_TOGETHER and not self._tasks.empty():
                task = self._tasks.get()
                if task is None:
                    self._tasks.put(None)
                    break
                together.append(task)
            self._commit(together)
            self._log.grew(self._db)

    def _commit(self, tasks: list[_Task]) -> None:
        """All together; where one of them cannot be done, each alone, so that it takes no other with it."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            outcomes: list[Any] = [task.work(self._db) for task in tasks]
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                with suppress(sqlite3.Error):  # whatever the disk says: the next one may be taken
                    self._db.execute("ROLLBACK")
            if len(tasks) > 1 and not isinstance(error, sqlite3.OperationalError):
                for task in tasks:
                    self._commit([task])
                return
            outcomes = [self._explained(error)] * len(tasks)
        for task, outcome in zip(tasks, outcomes, strict=True):
            _tell(task, outcome)

    def _explained(self, error: BaseException) -> BaseException:
        if isinstance(error, sqlite3.Error):
            remedy = "free some room" if "full" in str(error) else "check the disk"
            return Unwritten(self._where, f"cannot be written ({error})", f"{remedy}, then send it again")
        return error


class _Log:
    """SQLite's log of changes, which must not grow for ever.

    A log is begun anew when all of it is in the file. While events keep coming, what one pass moves is never all; so a
    second, short pass on the writer's own thread moves what came during the first.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._commits, self._moved = store, 0, False
        self._wanted, self._ended = Event(), False
        self._thread = Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def grew(self, db: sqlite3.Connection) -> None:
        """By one commit."""
        self._commits += 1
        if self._moved:
            self._moved = False
            with suppress(sqlite3.Error):  # what the disk does not take is told by the next commit
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        elif self._commits % MOVED_AFTER == 0:
            self._wanted.set()

    def close(self) -> None:
        self._ended = True
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while self._wanted.wait() and not self._ended:
            self._wanted.clear()
            with suppress(sqlite3.Error, BadInput):
                self._store.checkpoint(whole=False)
            self._moved = True


def _tell(task: _Task, outcome: Any) -> None:
    try:
        if isinstance(outcome, BaseException):
            raise outcome
        if task.then is not None:
            task.then(outcome)
        task.done.set_result(outcome)
    except BaseException as error:
        task.done.set_exception(error)
