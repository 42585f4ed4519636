"""What every source is handed and hands back: one log in, records out."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import polars as pl

from stap.sources.reading.rows import Sieve
from stap.sources.reading.scratch import Scratch
from stap.usage import GAP

HEAD_BYTES = 1 << 16
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ENDINGS = re.compile(r"(\.(gz|tgz|tar|tsv|csv|txt|json|parquet))+$", re.IGNORECASE)


class Rows(NamedTuple):
    """A part of a table."""

    first: int  # from 0
    number: int


@dataclass(frozen=True)
class Options:
    """What a person may decide about an import."""

    format: str | None = None  # None: sniffed
    zone: str | None = None  # IANA name, for logs kept in UTC; None: this machine's
    skip_bad_rows: bool = False
    keep_system: bool = False
    in_front: bool = False  # where records overlap, what was in front and what came back to it
    as_user: str | None = None  # all logs are this one person's
    same_users: bool = False  # a user's name is the same person in every log
    merge_gap: float | None = GAP  # seconds that an app may be away and still be one launch; None: any, as in the paper
    until: datetime | None = (
        None  # read while it is written: what its own clock showed then, when what has not ended goes on
    )
    rows: Rows | None = None  # of a usage table as Parquet these alone, which are whole people (`sources.shards`)


@dataclass(frozen=True)
class Log:
    """One opened log: plain bytes on disk, whatever it came wrapped in."""

    path: Path  # where the bytes are now
    sieve: Sieve
    scratch: Scratch  # where copies of it may be put
    origin: Path  # where it lay; an archive is a folder here

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.sieve.where

    @property
    def stem(self) -> str:
        """Names the user where the log does not."""
        return bare_name(self.origin)

    def head(self) -> Head:
        with open(self.path, "rb") as file:
            return Head(file.read(HEAD_BYTES))


def bare_name(path: Path) -> str:
    """A file's or folder's name without the endings that say what it is packed in, as text whatever its bytes."""
    name = path.name.encode("utf-8", "replace").decode()
    return ENDINGS.sub("", name) or name


@dataclass(frozen=True)
class Head:
    """The first bytes of a log, enough to tell its format."""

    data: bytes

    @cached_property
    def text(self) -> str:
        if self.data.startswith(UTF16_MARKS):
            return self.data.decode("utf-16", "replace")
        return self.data.decode("utf-8-sig", "replace")

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that hold anything; the last one may be cut."""
        return [line for line in self.text.splitlines() if line.strip()][:20]

    @property
    def first_line(self) -> str:
        return self.lines[0] if self.lines else ""


@dataclass(frozen=True)
class Records:
    """What one log says: a row a record, in the log's own order in time.

    Columns are app, start, end and, where the log names anybody, user; other columns do not matter. Where the log shows
    what lies between apps, those are rows too, in their place: column `between` says "home" (a home screen) or "off" (a
    dark or locked screen, nobody there), and is null in an app's record.
    """

    table: pl.DataFrame
    notes: tuple[str, ...] = ()
    judged: bool = False  # the log's own maker has taken launchers and system UI out, or kept them on purpose
    dropped: int = 0  # launcher and system rows the source itself has dropped
    dataset: bool = False  # part of a data set: a user's name is the same person in all its logs
    notifications: pl.DataFrame | None = None  # app, time and, where the log names anybody, user


def beside_published(dataset: str, published: dict[str, int], counted: dict[str, int]) -> str:
    """A benchmark's published counts beside what was read: is this the file that the papers speak of?"""
    differing = [name for name in published if counted[name] != published[name]]
    if not differing:
        return f"{dataset}: as published ({', '.join(f'{count:,} {name}' for name, count in published.items())})."
    said = ", ".join(f"{counted[name]:,} {name} (published: {published[name]:,})" for name in differing)
    return f"{dataset}: this is not the published dataset as a whole: {said}."


class Source(Protocol):
    """A format: a module with a name, a nose and a reader."""

    NAME: str

    def sniff(self, head: Head) -> float:
        """How sure, 0 to 1, that a log with this head is of this format."""
        ...

    def read(self, log: Log, options: Options) -> Records: ...
