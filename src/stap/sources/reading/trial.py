"""Parquet is decoded by a process of its own first: a forged page can end whoever decodes it, and no one catches that.

For such a page polars asks for more memory than any machine has, and the process is aborted; another unpacks to far
more than its file, and takes what others need. A launcher's server or a person's shell shall not go with it. The
process has a bound, waits for the next file a while, and then leaves by itself.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Lock

from stap.errors import BadInput
from stap.sources.reading.tables import MANY, MEMORY

PATIENCE = 10  # seconds that it waits for another file
STILL = 20  # seconds without any work in which it is taken to wait for ever
LEFT = 0  # its exit code when nobody asked any more
STARTS = 3  # of a process that leaves before it answers: then something else is wrong with it
ROW = 200  # bytes of memory that a row may take, whose text in a CSV is some 60 long: so much in few bytes is no bomb
PROGRAM = Path(__file__).with_name("taste.py")


def room(path: Path, rows: int) -> int:
    """Bytes of memory that decoding a file of so many rows may take, and that its texts may have."""
    return max(MEMORY, MANY * path.stat().st_size, ROW * rows)


class _Taster:
    """The process, started when it is needed."""

    def __init__(self) -> None:
        self._lock, self._owner = Lock(), 0
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self._leave)

    def check(self, path: Path, columns: Collection[str], rows: int, where: str) -> None:
        """Refuse a file whose columns are not decoded within its room, and one whose columns are damaged."""
        most = room(path, rows)
        asked = json.dumps([os.fsencode(os.path.abspath(path)).hex(), list(columns), most]).encode() + b"\n"
        why = self._answer(asked)
        if why is None:
            why = f"decoding it takes more than {most >> 20} MB"
            raise BadInput(where, f"no readable Parquet ({why})", "write it again, or as CSV if you trust it")
        if why:
            raise BadInput(where, f"no readable Parquet ({why})", "write it again")

    def _answer(self, asked: bytes) -> str | None:
        """What the process says; None where it came to an end over it."""
        with self._lock:
            for _ in range(STARTS):
                process = self._running()
                assert process.stdin is not None
                assert process.stdout is not None
                with suppress(BrokenPipeError):
                    process.stdin.write(asked)
                    process.stdin.flush()
                    if answer := process.stdout.readline():
                        return None if (said := json.loads(answer)) is None else str(said)
                if self._ended() != LEFT:
                    break
        return None

    def _running(self) -> subprocess.Popen[bytes]:
        """A fork of this process must not share it. With -P nothing beside its program is taken for a module."""
        if self._process is None or self._owner != os.getpid():
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            command = (sys.executable, "-P", PROGRAM, str(PATIENCE), str(STILL))
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
            self._owner = os.getpid()
        return self._process

    def _ended(self) -> int:
        process, self._process = self._process, None
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        return process.wait()

    def _leave(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._ended()


check = _Taster().check
