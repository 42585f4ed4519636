"""A real server in a thread: a port of the loopback, a data folder, feeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from stap.serve import places, run
from stap.serve.app import make_app
from stap.serve.client import Client
from stap.serve.core import Core, Settings
from stap.serve.feeding import Feed
from stap.serve.security import token_of


@contextmanager
def running(folder: Path, feeds: Sequence[Feed] = (), port: int = 0) -> Iterator[Client]:
    """Its client, as on the machine where it runs."""
    core = Core(Settings(folder, memory=64))
    with run.bound(port) as listener:
        (folder / places.ADDRESS_FILE).write_text(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        server = run.server(make_app(core, token_of(folder), feeds=feeds), core)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Client(data=folder)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
