"""Opens anything: a file, a folder, `-` for standard input, gzip by its first bytes, a tar bare or inside the gzip.

Whatever comes in is unpacked to plain bytes in a scratch folder, in pieces, under its budget, and gone once it is read:
a bomb or an endless stream stops with a clear line and fills neither the memory nor the disk.
"""

from __future__ import annotations

import gzip
import os
import stat
import sys
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

from stap.errors import BadInput, first_line
from stap.sources.reading.base import Log
from stap.sources.reading.rows import LONGEST_NAME, Sieve
from stap.sources.reading.scratch import Scratch
from stap.usage import table_of

PIECE = 1 << 20
MAX_BYTES = 32 << 30
MAX_RATIO = 250  # app logs shrink 10 to 50 times; only a bomb shrinks a thousand times
RATIO_FROM = 64 << 20  # small files may shrink as they like
MAX_MEMBERS = 100_000
MAX_DEPTH = 8  # gzip in gzip in tar in gzip
PATIENCE = 10  # seconds that a pipe may be without anybody who writes to it
REFETCH = "fetch the file again, or keep what is whole with --skip-bad-rows"


class _Broken(Exception):  # noqa: N818
    """The bytes end before they should; says why."""


def open_logs(path: str | Path, scratch: Scratch, skip: bool) -> Iterator[Log]:
    """Every log behind one argument of the command line."""
    if str(path) == "-":
        if sys.stdin is None:
            raise BadInput("standard input", "it is closed", "name a file, or feed it")
        log = Log(Path(), Sieve("standard input", skip), scratch, Path("stdin"))
        yield from _spooled(log, _given(log, _pieces(sys.stdin.buffer)))
        return
    path = Path(path)
    if "\0" in str(path):
        raise BadInput(str(path), "no possible file name", "check the name")
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


def _open_file(path: Path, scratch: Scratch, skip: bool) -> Iterator[Log]:
    log = Log(path, Sieve(str(path), skip), scratch, Path(os.path.abspath(path)))
    if path.is_file():
        scratch.given += path.stat().st_size
        yield from _unwrap(log if _in_utf8(path) else replace(log, path=_linked(path, scratch)))
    else:  # a pipe: it can be read only once
        with _pipe(path) as pieces:
            yield from _spooled(replace(log, origin=Path(path.name)), _given(log, pieces))


def _in_utf8(path: Path) -> bool:
    return not any("\udc80" <= char <= "\udcff" for char in str(path))


def _linked(path: Path, scratch: Scratch) -> Path:
    """Under a name that polars takes: it wants UTF-8."""
    link = scratch.name()
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


def _unwrap(log: Log, depth: int = 0) -> Iterator[Log]:
    """Take off gzip, then tar."""
    with open(log.path, "rb") as file:
        start = file.read(512)
    if not start:
        raise BadInput(log.name, "the file is empty", "check how it was exported")
    if depth > MAX_DEPTH:
        raise BadInput(log.name, f"packed more than {MAX_DEPTH} times over", "unpack it yourself if you trust it")
    if start[:2] == b"\x1f\x8b":
        yield from _spooled(log, _gunzipped(log), depth + 1)
    elif start[257:262] == b"ustar":
        yield from _untar(log, depth + 1)
    else:
        with log.scratch.freed():  # what the reader makes of it
            yield log


def _spooled(log: Log, pieces: Iterator[bytes], depth: int = 0) -> Iterator[Log]:
    """The logs in these bytes, which lie on the disk meanwhile."""
    with log.scratch.freed():
        yield from _unwrap(_spool(log, pieces), depth)


def _spool(log: Log, pieces: Iterator[bytes]) -> Log:
    """The log with these bytes in a file of its own. Where they break off, whole lines remain.

    A line that breaks off may still look whole: 10:30:4 for 10:30:45.
    """
    rows = whole = 0
    with log.scratch.writing(log.name) as out:
        try:
            for piece in pieces:
                out.write(piece)
                rows += piece.count(b"\n")
                whole = out.tell() - len(piece) + piece.rfind(b"\n") + 1 if b"\n" in piece else whole
        except _Broken as error:
            if not log.sieve.skipped:  # otherwise the archive around it has broken off here, and that was counted
                log.sieve.fault(rows + 1, str(error), REFETCH)
            out.truncate(whole)
    return replace(log, path=out.path)


def _given(log: Log, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """What comes from outside in a stream counts as input, up to MAX_BYTES: it may never end."""
    size = 0
    for piece in pieces:
        size += len(piece)
        log.scratch.given += len(piece)
        if size > MAX_BYTES:
            raise BadInput(log.name, f"more than {MAX_BYTES >> 30} GB", "import it in parts")
        yield piece


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(PIECE), b"")


def _gunzipped(log: Log) -> Iterator[bytes]:
    size = 0
    with open(log.path, "rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
        try:
            while piece := stream.read1(PIECE):  # read() would throw away what came before the break
                size += len(piece)
                log.scratch.unpacked += len(piece)
                if size > max(RATIO_FROM, MAX_RATIO * raw.tell()) or log.scratch.bursts(MAX_RATIO):
                    raise BadInput(log.name, "shrinks like a decompression bomb", "unpack it yourself if you trust it")
                yield piece
        except EOFError:
            raise _Broken("the gzip ends too early") from None
        except (zlib.error, gzip.BadGzipFile) as error:
            raise _Broken(f"the gzip is damaged ({error})") from None


def _untar(log: Log, depth: int) -> Iterator[Log]:
    """The archive's plain files, under names of our own: a member's path is never a path here."""
    members = 0
    with _archive(log) as archive:
        while (member := _next(log, archive)) is not None:
            if not member.isfile() or member.issparse() or not member.size or _hidden(Path(member.name)):
                continue
            members += 1
            if members > MAX_MEMBERS:
                raise BadInput(log.name, f"more than {MAX_MEMBERS} files in the tar", "unpack it and name a folder")
            sieve = Sieve(f"{log.name}:{member.name}", log.sieve.skip)
            sieve.skipped, log.sieve.skipped = log.sieve.skipped, 0  # what unpacking lost shows where records are
            inside = replace(log, sieve=sieve, origin=log.origin / member.name.lstrip("/"))
            with log.scratch.freed():
                piece = _spool(inside, _extracted(log, member))
                whole = piece.path.stat().st_size == member.size
                yield from _unwrap(piece, depth)
            if not whole:  # nothing can follow the break
                return
    if not members:
        raise BadInput(log.name, "a tar without a file in it", "check how it was packed")


@contextmanager
def _archive(log: Log) -> Iterator[tarfile.TarFile]:
    with _damage(log):
        archive = tarfile.open(log.path, "r:")  # noqa: SIM115 - closed below
    with archive:
        yield archive


def _next(log: Log, archive: tarfile.TarFile) -> tarfile.TarInfo | None:
    """The next member; None at the end. A size below 0 would lead back to where we were, for ever."""
    with _damage(log):
        member = archive.next()
        archive.members = []  # type: ignore[attr-defined]  # otherwise it remembers them all
        if member is not None and (member.size < 0 or len(member.name) > LONGEST_NAME):
            raise tarfile.TarError("a size below 0" if member.size < 0 else "a name without an end")
    return member


@contextmanager
def _damage(log: Log) -> Iterator[None]:
    """Whatever a reader of tars stumbles over."""
    try:
        yield
    except (tarfile.TarError, ValueError, OverflowError, LookupError, EOFError, RecursionError, MemoryError) as error:
        raise BadInput(log.name, f"a damaged tar ({first_line(error)})", "fetch the file again") from None


def _extracted(log: Log, member: tarfile.TarInfo) -> Iterator[bytes]:
    left = member.size
    with open(log.path, "rb") as file:
        file.seek(member.offset_data)
        while left and (piece := file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece
    if left:
        raise _Broken("the tar ends too early")
