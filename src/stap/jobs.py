"""Independent jobs: in this process, on processes of this machine, or on the nodes of a Ray cluster.

A job is a module's function with its arguments, as `functools.partial` holds them, so that another process can import
it. A worker or a node that is killed costs only the job it was at: somebody begins it again. What a job itself raises
ends them all.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread, local
from typing import Any, NamedTuple, TypeVar

from stap import terminal
from stap.errors import BadInput, extra, first_line

TRIES = 3  # of a job whose worker is killed
AHEAD = 2  # jobs that are handed out for every one being done, so that nobody waits for the next
KNOCKING = 10.0  # seconds until a cluster answers
RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",  # whom we work for is nobody's business
    "RAY_gcs_server_port_wait_time_s": "1",  # a cluster that is gone is not waited for: one attempt, of 40 seconds
}

T = TypeVar("T")
Job = Callable[[], T]


@dataclass(frozen=True)
class Hands:
    """Who does the jobs: so many processes of this machine, or all processors of a Ray cluster at this address."""

    processes: int = 1
    cluster: str | None = None

    @property
    def alone(self) -> bool:
        """Everything happens in this very process."""
        return self.processes == 1 and self.cluster is None


class _Crew(NamedTuple):
    begin: Callable[[Job[Any]], Future[Any]]
    room: Callable[[], int]  # how many jobs may be handed out
    result: Callable[[Future[Any]], Any]


def each(work: Iterable[Job[T]], hands: Hands = Hands()) -> Iterator[tuple[int, T]]:  # noqa: B008 - frozen
    """Every job's number and what it gave, as they come. Jobs are taken from `work` when there are hands for them."""
    numbered = enumerate(work)
    if hands.alone:
        yield from ((number, job()) for number, job in numbered)
        return
    with _hired(hands) as crew:
        doing: dict[Future[T], int] = {}
        while True:
            free = max(0, crew.room() - len(doing))
            doing |= {crew.begin(job): number for number, job in islice(numbered, free)}
            if not doing:
                return
            for done in wait(doing, return_when=FIRST_COMPLETED).done:
                yield doing.pop(done), crew.result(done)


def _hired(hands: Hands) -> AbstractContextManager[_Crew]:
    return _processes(hands.processes) if hands.cluster is None else _cluster(hands.cluster)


@contextmanager
def _processes(count: int) -> Iterator[_Crew]:
    """Each with a thread that hands it jobs, and starts another one where it is killed.

    One pool of many processes would break as a whole. They are spawned: threads do not survive a fork.
    """
    own, pools = local(), list[ProcessPoolExecutor]()

    def do(job: Job[T]) -> T:
        for _ in range(TRIES):
            if getattr(own, "pool", None) is None:
                own.pool = ProcessPoolExecutor(1, get_context("spawn"), _settle_in)
                pools.append(own.pool)
            try:
                result: T = own.pool.submit(job).result()
                return result
            except BrokenProcessPool:
                own.pool = None
        why = f"a worker process was killed, {TRIES} times at the same job"
        raise BadInput("--jobs", why, "if memory ran out, fewer jobs at a time need less")

    threads = ThreadPoolExecutor(count)
    try:
        yield _Crew(lambda job: threads.submit(do, job), lambda: AHEAD * count, Future.result)
    finally:
        threads.shutdown(cancel_futures=True)
        for pool in pools:
            pool.shutdown()


def _settle_in() -> None:
    """A new process: it says nothing, and does not outlive the one it works for."""
    terminal.hush()
    Thread(target=_leave_with, args=(parent_process(),), daemon=True).start()


def _leave_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextmanager
def _cluster(address: str) -> Iterator[_Crew]:
    """Ray gives jobs to nodes, and again where one dies."""
    for setting, value in RAY.items():
        os.environ.setdefault(setting, value)
    ray = extra("ray")

    def result(done: Future[Any]) -> Any:
        try:
            return done.result()
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            why = f"a job was lost {TRIES} times ({first_line(error)})"
            raise BadInput(f"--cluster {address}", why, "see what became of its nodes (`ray status`)") from None

    try:
        _knock(address)
        ray.init(address, logging_level="ERROR", log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        why = f"no Ray cluster answers ({first_line(error)})"
        raise BadInput(f"--cluster {address}", why, "start one with `ray start --head` (docs/scale.md)") from None
    there, place = ray.remote(max_retries=TRIES - 1)(_there).remote, Path.cwd()

    def room() -> int:
        return AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))  # nodes come and go

    try:
        with redirect_stdout(sys.stderr):  # where Ray tells of the dead; standard output is for results
            yield _Crew(lambda job: there(place, job).future(), room, result)
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Is anybody there? Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), KNOCKING).close()


def _there(place: Path, job: Job[T]) -> T:
    """On a node, in the folder where the command was given: all nodes see it."""
    terminal.hush()
    os.chdir(place)
    return job()
