"""Real servers, in processes of their own that can be killed. They are forked from one that has imported everything."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any

from stap.serve import sessions
from stap.serve.app import make_app
from stap.serve.core import Core, Settings
from stap.serve.limits import Limits
from stap.serve.run import KEEP_ALIVE, alone, bound, server

TOKEN = "t" * 43
FREE = (1e6, 1e6)  # requests a second, and at once


def run(folder: Path, told: Connection, often: int, limits: tuple[float, float]) -> None:
    """What `stap serve` does, with snapshots as often as a test wants them."""
    sessions.OFTEN = often
    with alone(folder), bound(0) as listener:
        core = Core(Settings(folder, memory=64))
        app = make_app(core, TOKEN, Limits(*limits))
        told.send(listener.getsockname()[1])
        server(app, core).run(sockets=[listener])


@dataclass
class Real:
    """A running server."""

    process: BaseProcess
    port: int
    _line: HTTPConnection | None = field(default=None, repr=False)
    _used: float = 0.0  # when the line was used last

    def ask(self, method: str, path: str, body: Any = None, timeout: float = 60) -> tuple[int, Any]:
        """(status, answer) over one connection that is kept, as long as the server surely keeps it too."""
        if monotonic() - self._used > KEEP_ALIVE / 3:
            self.hang_up()
        if self._line is None:
            self._line = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            self._line.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._line.getresponse()
            text = response.read()
            self._used = monotonic()
        except Exception:
            self.hang_up()
            raise
        kind = response.getheader("Content-Type") or ""
        return response.status, json.loads(text) if kind == "application/json" else text.decode()

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def kill(self) -> None:
        self.hang_up()
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()

    def stop(self) -> None:
        self.hang_up()
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(20)
        assert not self.process.is_alive()


def start(folder: Path, often: int = 5_000, limits: tuple[float, float] = FREE) -> Real:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["serve.real"])
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(folder, there, often, limits), daemon=True)
    process.start()
    there.close()
    port = here.recv()
    here.close()
    return Real(process, port)


@contextmanager
def running(folder: Path, often: int = 5_000, limits: tuple[float, float] = FREE) -> Iterator[Real]:
    server = start(folder, often, limits)
    try:
        yield server
    finally:
        server.stop()
