"""Separated values as columns of text, each row with its place in the file.

polars reads the file at full speed. What it will not take (a stray quote, a field too many) or would number wrongly
(a line break inside quotes) is read again with the csv module, which is slow, lenient and knows its line.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Collection, Iterator

import polars as pl

from stap.errors import BadInput, short
from stap.sources.reading.base import Log
from stap.sources.reading.rows import ROW

CHUNK = 100_000
SEPARATORS = (",", ";", "\t")
NO_SEPARATOR = "\x1f"  # occurs in no text that a person or a phone writes
LINE_ENDS = "[\r\n]"
MOST_COLUMNS = 1000
MEMORY = 400 << 20  # bytes that the rows of any log may take; those of a larger one MANY times its size
MANY = 15
_CELL, _COPIES = 16, 3  # bytes that polars keeps of every cell, however short; and how often at once


def separator_of(header: str, needed: Collection[str]) -> str | None:
    """The separator under which a header has the columns needed, whatever their case."""
    fits = (each for each in SEPARATORS if {name.lower() for name in split(header, each)}.issuperset(needed))
    return next(fits, None)


def split(line: str, separator: str) -> list[str]:
    """One line in fields."""
    try:
        return [field.strip() for field in next(csv.reader(io.StringIO(line), delimiter=separator), [])]
    except csv.Error:
        return []


def read_header(log: Log, separator: str) -> tuple[list[str], int]:
    """The first line that holds anything, in fields, and its row."""
    with open(log.path, encoding="utf-8", newline="") as file:
        for row, line in enumerate(file, 1):
            if line.strip():
                names = split(line.rstrip("\r\n"), separator)
                if len(names) > MOST_COLUMNS:
                    raise BadInput(log.name, f"a header of {len(names):,} columns", "check the file", row)
                return names, row
    raise BadInput(log.name, "the file is empty", "check how it was exported")


def read_columns(log: Log, needed: Collection[str], wanted: Collection[str], remedy: str) -> pl.DataFrame:
    """A table by its own header: the columns wanted under their names, whatever their case; and ROW.

    Columns may stand in any order, and what is not wanted may be called anything.
    """
    separator = separator_of(log.head().first_line, needed)
    header, row = read_header(log, separator) if separator else ([], 1)
    lower = [name.lower() for name in header]
    if separator is None or not set(needed).issubset(lower):  # what ends a line of text need not end one of a table
        raise BadInput(log.name, f"no header with {', '.join(needed)}", remedy, row)
    double = next((name for name in wanted if lower.count(name) > 1), None)
    if double is not None:
        raise BadInput(log.name, f"two columns {short(double)}", "leave one of them out", row)
    names = [name if name in wanted else f"column {place}" for place, name in enumerate(lower, 1)]
    return read_table(log, separator, names, skip=row)


def read_table(log: Log, separator: str, names: list[str], skip: int, quoted: bool = True) -> pl.DataFrame:
    """Everything after the first `skip` lines: the columns `names` as text and ROW; blank lines left out.

    A field that is not there is null. A row with more fields than names is bad.
    """
    _check_density(log, len(names))
    frame = _fast(log, separator, names, skip, quoted)
    if frame is None or (quoted and any(frame.select(pl.col(names).str.contains(LINE_ENDS).any()).row(0))):
        frame = _careful(log, separator, names, skip, quoted)
    blank = pl.all_horizontal(pl.col(names).is_null())
    some = min(frame[names].null_count().row(0))  # looking first spares a copy of nearly every table
    return frame.filter(~blank) if some else frame


def read_lines(log: Log) -> pl.DataFrame:
    """Every line that holds anything, as column `line`, and ROW."""
    return read_table(log, NO_SEPARATOR, ["line"], skip=0, quoted=False)


def _check_density(log: Log, columns: int) -> None:
    """Every line becomes a row, so lines far too short for a record would take far more memory than their file."""
    size, row = log.path.stat().st_size, _COPIES * _CELL * (columns + 1)
    room = max(MEMORY, MANY * size)
    if size * row <= room:
        return
    with open(log.path, "rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    if lines * row > room:
        raise BadInput(log.name, f"{lines:,} lines, far too short for records", "leave blank lines out")


def _fast(log: Log, separator: str, names: list[str], skip: int, quoted: bool) -> pl.DataFrame | None:
    try:
        frame = pl.read_csv(
            log.path,
            separator=separator,
            quote_char='"' if quoted else None,
            has_header=False,
            skip_lines=skip,
            schema=dict.fromkeys(names, pl.String()),
            glob=False,
            row_index_name=ROW,
            row_index_offset=skip + 1,
        )
    except pl.exceptions.NoDataError:
        return _frame([], names)
    except pl.exceptions.PolarsError:
        return None
    return frame


def _careful(log: Log, separator: str, names: list[str], skip: int, quoted: bool) -> pl.DataFrame:
    with open(log.path, encoding="utf-8", newline="") as file:
        rows = _rows(log, itertools.islice(file, skip, None), separator, len(names), skip, quoted)
        chunks = [_frame(chunk, names) for chunk in iter(lambda: list(itertools.islice(rows, CHUNK)), [])]
    return pl.concat(chunks) if chunks else _frame([], names)


def _rows(
    log: Log, lines: Iterator[str], separator: str, width: int, skip: int, quoted: bool
) -> Iterator[tuple[int | str | None, ...]]:
    reader = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    while True:
        row = skip + reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            log.sieve.fault(row, f"cannot be split into fields ({error})")
            continue
        if not fields:
            continue
        if len(fields) > width:
            log.sieve.fault(row, f"{len(fields)} fields where {width} are expected")
            continue
        yield (row, *(field or None for field in fields), *([None] * (width - len(fields))))


def _frame(rows: list[tuple[int | str | None, ...]], names: list[str]) -> pl.DataFrame:
    schema = {ROW: pl.UInt32(), **dict.fromkeys(names, pl.String())}
    return pl.DataFrame(rows, schema=schema, orient="row")
