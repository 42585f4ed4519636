"""Opens anything: a file, a folder, `-` for standard input, gzip by its first bytes, a tar bare or inside the gzip.

Whatever comes in is unpacked to plain bytes in a scratch folder, in pieces, under a cap: a bomb or an endless stream
stops with a clear line and never fills the memory.
"""

from __future__ import annotations

import gzip
import os
import stat
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

from stap.errors import BadInput
from stap.sources.reading.base import Log
from stap.sources.reading.rows import Sieve
from stap.usage import table_of

PIECE = 1 << 20
MAX_BYTES = 32 << 30
MAX_RATIO = 250  # app logs shrink 10 to 50 times; only a bomb shrinks a thousand times
RATIO_FROM = 64 << 20  # small files may shrink as they like
MAX_MEMBERS = 100_000
PATIENCE = 10  # seconds that a pipe may be without anybody who writes to it
REFETCH = "fetch the file again, or keep what is whole with --skip-bad-rows"


class _Broken(Exception):  # noqa: N818
    """The bytes end before they should; says why."""


def open_logs(path: str | Path, scratch: Path, skip: bool) -> Iterator[Log]:
    """Every log behind one argument of the command line."""
    if str(path) == "-":
        if sys.stdin is None:
            raise BadInput("standard input", "it is closed", "name a file, or feed it")
        log = Log(Path(), Sieve("standard input", skip), scratch, Path("stdin"))
        yield from _unwrap(_spool(log, _pieces(sys.stdin.buffer)))
        return
    path = Path(path)
    try:
        if path.is_dir():
            files = [file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path))]
            for file in sorted(file for file in files if file.stat().st_size and table_of(file) is None):
                yield from _open_file(file, scratch, skip)
        else:
            yield from _open_file(path, scratch, skip)
    except FileNotFoundError:
        raise BadInput(str(path), "no such file", "check the name") from None
    except OSError as error:
        raise BadInput(str(path), f"cannot be read ({error.strerror or error})", "check the file") from None


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) and part != ".." for part in path.parts)


def _open_file(path: Path, scratch: Path, skip: bool) -> Iterator[Log]:
    log = Log(path, Sieve(str(path), skip), scratch, Path(os.path.abspath(path)))
    if path.is_file():
        yield from _unwrap(log if _in_utf8(path) else replace(log, path=_linked(path, scratch)))
    else:  # a pipe: it can be read only once
        with _pipe(path) as pipe:
            yield from _unwrap(_spool(replace(log, origin=Path(path.name)), pipe))


def _in_utf8(path: Path) -> bool:
    return not any("\udc80" <= char <= "\udcff" for char in str(path))


def _linked(path: Path, scratch: Path) -> Path:
    """Under a name that polars takes: it wants UTF-8."""
    link = scratch / f"link{len(os.listdir(scratch))}"
    link.symlink_to(os.path.abspath(path))
    return link


@contextmanager
def _pipe(path: Path) -> Iterator[Iterator[bytes]]:
    """The pieces from a pipe that somebody writes to: at one that nobody opens we would wait for ever."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(handle, "rb") as stream:
        if not stat.S_ISFIFO(os.fstat(handle).st_mode):
            raise BadInput(str(path), "neither a file nor a pipe", "name a file, a folder, a pipe or -")
        first, deadline = b"", time.monotonic() + PATIENCE
        with suppress(BlockingIOError):  # there is a writer, who has not written yet
            while not (first := os.read(handle, PIECE)):
                if time.monotonic() > deadline:
                    raise BadInput(str(path), f"a pipe that nobody fed for {PATIENCE} s", "feed it, or name a file")
                time.sleep(0.02)
        os.set_blocking(handle, True)
        yield chain([first], _pieces(stream))


def _unwrap(log: Log) -> Iterator[Log]:
    """Take off gzip, then tar."""
    with open(log.path, "rb") as file:
        start = file.read(512)
    if not start:
        raise BadInput(log.name, "the file is empty", "check how it was exported")
    if start[:2] == b"\x1f\x8b":
        yield from _unwrap(_spool(log, _gunzipped(log)))
    elif start[257:262] == b"ustar":
        yield from _untar(log)
    else:
        yield log


def _spool(log: Log, pieces: Iterator[bytes]) -> Log:
    """The log with these bytes in a file of its own, under the cap. Where they break off, whole lines remain.

    A line that breaks off may still look whole: 10:30:4 for 10:30:45.
    """
    handle, name = tempfile.mkstemp(dir=log.scratch)
    rows = whole = 0
    with open(handle, "wb") as out:
        try:
            for piece in pieces:
                out.write(piece)
                rows += piece.count(b"\n")
                whole = out.tell() - len(piece) + piece.rfind(b"\n") + 1 if b"\n" in piece else whole
                if out.tell() > MAX_BYTES:
                    raise BadInput(log.name, f"more than {MAX_BYTES >> 30} GB", "import it in parts")
        except _Broken as error:
            if not log.sieve.skipped:  # otherwise the archive around it has broken off here, and that was counted
                log.sieve.fault(rows + 1, str(error), REFETCH)
            out.truncate(whole)
    return replace(log, path=Path(name))


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(PIECE), b"")


def _gunzipped(log: Log) -> Iterator[bytes]:
    size = 0
    with open(log.path, "rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
        try:
            while piece := stream.read1(PIECE):  # read() would throw away what came before the break
                size += len(piece)
                if size > max(RATIO_FROM, MAX_RATIO * raw.tell()):
                    raise BadInput(log.name, "shrinks like a decompression bomb", "unpack it yourself if you trust it")
                yield piece
        except EOFError:
            raise _Broken("the gzip ends too early") from None
        except (zlib.error, gzip.BadGzipFile) as error:
            raise _Broken(f"the gzip is damaged ({error})") from None


def _untar(log: Log) -> Iterator[Log]:
    """The archive's plain files, under names of our own: a member's path is never a path here."""
    members = 0
    try:
        with tarfile.open(log.path, "r:") as archive:
            for member in archive:
                if not member.isfile() or member.issparse() or not member.size or _hidden(Path(member.name)):
                    continue
                members += 1
                if members > MAX_MEMBERS:
                    raise BadInput(log.name, f"more than {MAX_MEMBERS} files in the tar", "unpack it and name a folder")
                sieve = Sieve(f"{log.name}:{member.name}", log.sieve.skip)
                sieve.skipped, log.sieve.skipped = log.sieve.skipped, 0  # what unpacking lost shows where records are
                inside = replace(log, sieve=sieve, origin=log.origin / member.name.lstrip("/"))
                piece = _spool(inside, _extracted(log, member))
                yield from _unwrap(piece)
                if piece.path.stat().st_size < member.size:  # nothing can follow the break
                    return
    except tarfile.TarError as error:
        raise BadInput(log.name, f"a damaged tar ({error})", "fetch the file again") from None
    if not members:
        raise BadInput(log.name, "a tar without a file in it", "check how it was packed")


def _extracted(log: Log, member: tarfile.TarInfo) -> Iterator[bytes]:
    left = member.size
    with open(log.path, "rb") as file:
        file.seek(member.offset_data)
        while left and (piece := file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece
    if left:
        raise _Broken("the tar ends too early")
