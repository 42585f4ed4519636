"""Opens anything: a file, a folder, `-` for standard input, gzip by its first bytes, a tar bare or inside the gzip.

Whatever comes in is unpacked to plain bytes in a scratch folder, in pieces, under a cap: a bomb or an endless stream
stops with a clear line and never fills the memory.
"""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
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
REFETCH = "fetch the file again, or keep what is whole with --skip-bad-rows"


def open_logs(path: str | Path, scratch: Path, skip: bool) -> Iterator[Log]:
    """Every log behind one argument of the command line."""
    if str(path) == "-":
        yield from _unwrap(_spool(sys.stdin.buffer, Sieve("standard input", skip), scratch, Path("stdin")))
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
    if path.is_file():
        yield from _unwrap(Log(path, Sieve(str(path), skip), scratch, Path(os.path.abspath(path))))
    else:  # a pipe: it can be read only once
        with open(path, "rb") as pipe:
            yield from _unwrap(_spool(pipe, Sieve(str(path), skip), scratch, Path(path.name)))


def _spool(stream: IO[bytes], sieve: Sieve, scratch: Path, origin: Path) -> Log:
    log = Log(_fresh(scratch), sieve, scratch, origin)
    with open(log.path, "wb") as out:
        while piece := stream.read(PIECE):
            out.write(piece)
            _cap(log, out.tell())
    return log


def _unwrap(log: Log) -> Iterator[Log]:
    """Take off gzip, then tar."""
    with open(log.path, "rb") as file:
        start = file.read(512)
    if not start:
        raise BadInput(log.name, "the file is empty", "check how it was exported")
    if start[:2] == b"\x1f\x8b":
        yield from _unwrap(_gunzip(log))
    elif start[257:262] == b"ustar":
        yield from _untar(log)
    else:
        yield log


def _gunzip(log: Log) -> Log:
    target = _fresh(log.scratch)
    with open(log.path, "rb") as raw, gzip.GzipFile(fileobj=raw) as stream, open(target, "wb") as out:
        rows, last = 0, b"\n"
        try:
            while piece := stream.read1(PIECE):  # read() would throw away what came before the break
                out.write(piece)
                rows, last = rows + piece.count(b"\n"), piece[-1:]
                _cap(log, out.tell())
                if out.tell() > max(RATIO_FROM, MAX_RATIO * raw.tell()):
                    raise BadInput(log.name, "shrinks like a decompression bomb", "unpack it yourself if you trust it")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            why = "the gzip ends too early" if isinstance(error, EOFError) else f"the gzip is damaged ({error})"
            log.sieve.fault(rows + 1, why, REFETCH)
            cut = last != b"\n"
        else:
            cut = False
    if cut:
        _drop_last_line(target)
    return replace(log, path=target)


def _drop_last_line(path: Path) -> None:
    """A line that breaks off may still look whole (10:30:4 for 10:30:45): leave it out."""
    with open(path, "rb+") as file:
        end = file.seek(0, 2)
        while end > 0:
            low = max(0, end - PIECE)
            file.seek(low)
            newline = file.read(end - low).rfind(b"\n")
            if newline >= 0:
                file.truncate(low + newline + 1)
                return
            end = low
        file.truncate(0)


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
                piece = _extract(log, member)
                yield from _unwrap(piece)
                if piece.path.stat().st_size < member.size:  # nothing can follow the break
                    return
    except tarfile.TarError as error:
        raise BadInput(log.name, f"a damaged tar ({error})", "fetch the file again") from None
    if not members:
        raise BadInput(log.name, "a tar without a file in it", "check how it was packed")


def _extract(log: Log, member: tarfile.TarInfo) -> Log:
    sieve = Sieve(f"{log.name}:{member.name}", log.sieve.skip)
    sieve.skipped, log.sieve.skipped = log.sieve.skipped, 0  # what unpacking lost shows where the records are
    target = _fresh(log.scratch)
    rows, left = 0, member.size
    with open(log.path, "rb") as file, open(target, "wb") as out:
        file.seek(member.offset_data)
        while left and (piece := file.read(min(PIECE, left))):
            out.write(piece)
            rows, left = rows + piece.count(b"\n"), left - len(piece)
    if left:
        if not sieve.skipped:
            sieve.fault(rows + 1, "the tar ends too early", REFETCH)
        _drop_last_line(target)
    return Log(target, sieve, log.scratch, log.origin / member.name.lstrip("/"))


def _cap(log: Log, size: int) -> None:
    if size > MAX_BYTES:
        raise BadInput(log.name, f"more than {MAX_BYTES >> 30} GB", "import it in parts")


def _fresh(scratch: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=scratch)
    os.close(handle)
    return Path(name)
