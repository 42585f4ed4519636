"""What a process does that works for the server: it ends with it, also where the server was killed and said nothing."""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Thread

STANDARD_INPUT, PIECE = 0, 1 << 16


def questions() -> SimpleQueue[bytes]:
    """Lines of standard input as they come. When its other side is gone so is this process, whatever it is doing."""
    found: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(found,), name="questions", daemon=True).start()
    return found


def _listen(found: SimpleQueue[bytes]) -> None:
    rest = b""
    while piece := os.read(STANDARD_INPUT, PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            found.put(line)
    os._exit(0)
