"""Start the server and run it until somebody stops it: one process a data folder, bound to the loopback."""

from __future__ import annotations

import atexit
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from threading import enumerate as threads
from typing import Any

import uvicorn

from stap.errors import BadInput
from stap.files import replacing
from stap.serve.app import make_app
from stap.serve.core import Core, Settings
from stap.serve.feeding import Feed
from stap.serve.patience import Patient
from stap.serve.places import ADDRESS_FILE, HOST
from stap.serve.security import Guard, token_of

LOCK = "lock"
GRACE = 3  # seconds that open lines have at the end
INTERRUPTED = 130  # exit code, as shells have it
KEEP_ALIVE = 30  # seconds between two requests of a connection
TURNS = 0.001  # seconds that one thread may keep the others waiting; Python's own 5 ms are felt in an answer


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """No other server has this folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadInput(str(folder), f"cannot be used ({error.strerror})", "choose another folder with --data") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise BadInput(str(folder), "another `stap serve` has it", "stop that one, or choose another --data") from None
    finally:
        os.close(handle)


def bound(port: int) -> socket.socket:
    """A socket on the loopback, of this port or, where it is 0, of any that is free."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise BadInput(f"port {port}", f"cannot be used ({error.strerror})", "choose another with --port") from None
    listener.listen(256)
    return listener


class _Server(uvicorn.Server):
    """Closes the open lines before it waits for them."""

    def __init__(self, config: uvicorn.Config, core: Core) -> None:
        super().__init__(config)
        self._core = core

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._core.hub.close()
        await super().shutdown(sockets)


def server(app: Guard, core: Core) -> uvicorn.Server:
    """One that writes no address into a log: addresses hold names of apps."""
    config = uvicorn.Config(
        app,
        http=Patient,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # nobody stands between
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
    )
    return _Server(config, core)


def _ended(*_: Any) -> None:
    """A terminal that is closed takes its server with it."""
    signal.raise_signal(signal.SIGTERM)


def _reload(core: Core) -> None:
    Thread(target=core.reload, name="reload").start()


def _leave(code: int) -> None:
    """The last that is done, when all is closed: a feed may still wait for somebody else, or read a long log.

    Python would take its thread away wherever it is, and in the midst of polars that aborts the process.
    """
    if any(thread.daemon for thread in threads()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)


def serve(settings: Settings, port: int, feeds: Sequence[Feed], announce: Callable[[str], None]) -> None:
    """Runs until SIGINT or SIGTERM, or its terminal is closed; else SIGHUP reads the model's file again.

    `announce` gets the address to open.
    """
    os.umask(0o077)
    early = list[int]()
    signal.signal(signal.SIGTERM, lambda number, _: early.append(number))  # what it raised could get lost in a callback
    with alone(settings.folder), bound(port) as listener:
        token = token_of(settings.folder)
        core = Core(settings)
        running = server(make_app(core, token, feeds=feeds), core)
        signal.signal(signal.SIGTERM, running.handle_exit)
        signal.signal(signal.SIGHUP, _ended if sys.stdout.isatty() else lambda *_: _reload(core))
        address = f"http://{HOST}:{listener.getsockname()[1]}"
        with replacing(settings.folder / ADDRESS_FILE, private=True) as draft:
            draft.write_text(address + "\n")
        sys.setswitchinterval(TURNS)
        announce(f"{address}/?token={token}")
        running.should_exit |= bool(early)  # then it begins, and ends in order
        try:
            running.run(sockets=[listener])
        except KeyboardInterrupt:  # of uvicorn, when all is closed
            atexit.register(_leave, INTERRUPTED)
            raise
        atexit.register(_leave, 0)
