"""The process that `trial` starts: it decodes Parquet files under a bound of memory, and says what came of each.

It is run by its path and knows nothing of ours, since importing the package takes longer than decoding most files does.
"""

from __future__ import annotations

import io
import json
import os
import resource
import select
import sys
import threading
import time

import polars as pl

KEPT = 128 << 20  # bytes that it may keep from one file to the next: a bound must not depend on what was before
IDLE = 0.002  # of a second of a processor's time, in one of ours: what whoever waits for ever takes at most
TEXTS = (pl.String, pl.Categorical, pl.Enum)
_busy = threading.Event()


def main(patience: float, still: int) -> None:
    """A line is a file, its columns and its bound; the answer "", what is wrong, or null: more than its bound."""
    threading.Thread(target=_watch, args=(still,), daemon=True).start()
    _decode(io.BytesIO(_small()), ["app"])  # the threads on which polars computes are no file's
    begin, asked = _data(), b""
    while _data() <= begin + KEPT and select.select([0], [], [], patience)[0] and (piece := os.read(0, 65536)):
        asked += piece
        while b"\n" in asked:
            line, _, asked = asked.partition(b"\n")
            path, columns, room = json.loads(line)
            _bound(begin + room)
            _busy.set()
            answer = _tasted(os.fsdecode(bytes.fromhex(path)), columns, room)
            _busy.clear()
            os.write(1, json.dumps(answer).encode() + b"\n")


def _watch(still: int) -> None:
    """Ends the process where nothing has moved for so many looks: a thread of polars that gets no memory may hang."""
    looks, used = 0, time.process_time()
    try:
        while looks < still:
            time.sleep(1)
            before, used = used, time.process_time()
            looks = looks + 1 if _busy.is_set() and used - before < IDLE else 0
    finally:  # also where there is no memory left to look
        os._exit(1)


def _tasted(path: str, columns: list[str], room: int) -> str | None:
    try:
        return "" if _decode(path, columns) <= room else None
    except MemoryError:
        return None
    except (Exception, pl.exceptions.PanicException) as error:
        return next(iter(str(error).splitlines()), "") or type(error).__name__


def _decode(source: str | io.BytesIO, columns: list[str]) -> int:
    """Every value of the columns; gives the bytes of all texts together.

    In the file and in polars' memory equal texts may be one, but whoever works with them makes each anew.
    """
    lazy = pl.scan_parquet(source, glob=False).select(columns)
    texts = [name for name, kind in lazy.collect_schema().items() if isinstance(kind, TEXTS)]
    length = pl.sum_horizontal(
        pl.lit(0, pl.UInt64), *(pl.col(name).cast(pl.String).str.len_bytes().cast(pl.UInt64).sum() for name in texts)
    )
    decoded = lazy.select(pl.all().hash().max(), length.alias(_unused(columns))).collect(engine="streaming")
    return int(decoded.to_series(-1).item())


def _unused(names: list[str]) -> str:
    return max(names, default="", key=len) + "+"


def _small() -> bytes:
    out = io.BytesIO()
    pl.DataFrame({"app": ["a"]}).write_parquet(out)
    return out.getvalue()


def _data() -> int:
    """Bytes that are mapped to be written to: what RLIMIT_DATA bounds on Linux, and only there."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def _bound(most: int) -> None:
    """What asks for more gets none, and polars then ends the process."""
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    if _data():
        resource.setrlimit(resource.RLIMIT_DATA, (most if highest < 0 else min(most, highest), highest))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
