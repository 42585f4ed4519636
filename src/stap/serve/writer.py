"""The one who writes: everything that waits is put on the disk together, and answered when it is there.

A commit waits for the disk for milliseconds. So that many clients do not wait one after the other, the requests that
arrive during one commit share the next.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from stap.errors import BadInput
from stap.serve.store import Store

MOST_TOGETHER = 512  # requests in one commit
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
        self._tasks: Queue[_Task | None] = Queue()
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T], then: Callable[[T], None] | None = None) -> Future[T]:
        """Done when it is on the disk. `then` is called before that is said, in the order of the commits."""
        done: Future[T] = Future()
        self._tasks.put(_Task(work, then, done))
        return done

    def close(self) -> None:
        """What was asked for until now is still done."""
        self._tasks.put(None)
        self._thread.join()
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

    def _commit(self, tasks: list[_Task]) -> None:
        """All together; where one of them cannot be done, each alone, so that it takes no other with it."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            outcomes: list[Any] = [task.work(self._db) for task in tasks]
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
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


def _tell(task: _Task, outcome: Any) -> None:
    try:
        if isinstance(outcome, BaseException):
            raise outcome
        if task.then is not None:
            task.then(outcome)
        task.done.set_result(outcome)
    except BaseException as error:
        task.done.set_exception(error)
