"""What every source is handed and hands back: one log in, records out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from stap.sources.reading.rows import Sieve

HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Options:
    """What a person may decide about an import."""

    format: str | None = None  # None: sniffed
    zone: str | None = None  # IANA name, for logs kept in UTC; None: this machine's
    skip_bad_rows: bool = False
    keep_system: bool = False
    in_front: bool = False  # where records overlap, what was in front and what came back to it


@dataclass(frozen=True)
class Log:
    """One log as plain bytes on disk, whatever it came wrapped in."""

    path: Path
    name: str  # what a person calls it
    sieve: Sieve
    scratch: Path  # where copies of it may be put
    stem: str = "log"  # names the user where the log does not
    folder: str = ""  # the folder it lay in

    def head(self) -> Head:
        with open(self.path, "rb") as file:
            return Head(self.name, file.read(HEAD_BYTES))


@dataclass(frozen=True)
class Head:
    """The first bytes of a log, enough to tell its format."""

    name: str
    data: bytes

    @property
    def text(self) -> str:
        if self.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self.data.decode("utf-16", "replace")
        return self.data.decode("utf-8-sig", "replace")

    def lines(self, count: int = 20) -> list[str]:
        """The first lines that hold anything; the last one may be cut."""
        return [line for line in self.text.splitlines() if line.strip()][:count]


@dataclass(frozen=True)
class Records:
    """What one log says: a row a record, columns user, app, start, end, in the log's own order in time."""

    table: pl.DataFrame
    notes: tuple[str, ...] = ()
    judged: bool = False  # the log's own maker has taken launchers and system UI out, or kept them on purpose
    dropped: int = 0  # launcher and system rows the source itself has dropped
    anonymous: bool = False  # the log names nobody: its user is the file's stem


class Source(Protocol):
    """A format: a module with a name, a nose and a reader."""

    NAME: str

    def sniff(self, head: Head) -> float:
        """How sure, 0 to 1, that a log with this head is of this format."""
        ...

    def read(self, log: Log, options: Options) -> Records: ...
