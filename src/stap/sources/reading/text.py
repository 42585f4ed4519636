"""Makes sure that a log is text: UTF-8 without NUL bytes, in lines of a sane length. UTF-16 with a mark is turned.

Files in order, nearly all, are only looked through, a megabyte at a time; a copy is made when something has to change.
"""

from __future__ import annotations

import codecs
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeGuard

from stap.errors import BadInput
from stap.sources.reading.base import UTF16_MARKS, Log
from stap.sources.reading.scratch import Spool

LONGEST_LINE = 1 << 20
UTF8_MARK = codecs.BOM_UTF8


def clean(log: Log) -> Log:
    """The log as text in lines: bad lines are named, or blanked and counted so that row numbers stay true."""
    log = _without_mark(log)
    if _looks_fine(log.path):
        return log
    with open(log.path, "rb") as file, log.scratch.writing(log.name) as out:
        for row, line, why in _lines(file):
            if why:
                log.sieve.fault(row, why, "export it again as UTF-8, or leave such rows out with --skip-bad-rows")
            out.write(b"\n" if why else line)
    return replace(log, path=out.path)


def clean_document(log: Log, longest: int) -> str:
    """A whole JSON document as text, under a cap; it has no rows to skip."""
    log = _without_mark(log)
    if log.path.stat().st_size > longest:
        raise BadInput(log.name, f"a document of more than {longest >> 20} MB", "export it in parts")
    data = log.path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise BadInput(log.name, "not UTF-8 text", "export it again as UTF-8", row) from None


def is_text(value: object) -> TypeGuard[str]:
    """Whether this is text that can be written down: JSON may hold half a character, which no file can."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_mark(log: Log) -> Log:
    """Take off a byte order mark; UTF-16 becomes UTF-8."""
    with open(log.path, "rb") as file:
        mark = file.read(3)
        if mark != UTF8_MARK and mark[:2] not in UTF16_MARKS:
            return log
        with log.scratch.writing(log.name) as out:
            if mark == UTF8_MARK:
                shutil.copyfileobj(file, out)
            else:
                file.seek(0)
                _from_utf16(log, file, out)
    return replace(log, path=out.path)


def _from_utf16(log: Log, file: IO[bytes], out: Spool) -> None:
    decoder, row = codecs.getincrementaldecoder("utf-16")(), 1
    try:
        while block := file.read(LONGEST_LINE):
            text = decoder.decode(block)
            out.write(text.encode())
            row += text.count("\n")
        decoder.decode(b"", final=True)
    except UnicodeError:
        raise BadInput(log.name, "broken UTF-16 text", "export it again as UTF-8", row) from None


def _looks_fine(path: Path) -> bool:
    """One fast look: no NUL, no line too long, valid UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    plain = True  # nothing is pending in the decoder
    begun = 0  # bytes of a line that the blocks before have left open
    with open(path, "rb") as file:
        try:
            while block := file.read(LONGEST_LINE):
                first = block.find(b"\n")
                if b"\0" in block or begun + (first if first >= 0 else len(block)) >= LONGEST_LINE:
                    return False
                begun = len(block) - 1 - block.rfind(b"\n") if first >= 0 else begun + len(block)
                if not plain or not block.isascii():
                    decoder.decode(block)
                    plain = not decoder.getstate()[0]
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes, str | None]]:
    """(row, line, what is wrong with it): an over-long line is never held as a whole."""
    row = 0
    while line := file.readline(LONGEST_LINE):
        row += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            yield row, b"", f"a line of more than {LONGEST_LINE >> 10} KB"
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
            continue
        yield row, line, _fault(line)


def _fault(line: bytes) -> str | None:
    if b"\0" in line:
        return "a NUL byte in it"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8 text (byte {error.start + 1} of the line is 0x{line[error.start]:02x})"
    return None
