"""Result files as a report takes them: whatever is in them comes from outside, so it is checked and bounded here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stap.errors import BadInput, short
from stap.files import read_bytes
from stap.terminal import Grid

RESULT = "result.json"  # as a study writes it
LARGEST = 1 << 26  # bytes of a file
FILES, TABLES, ROWS, COLUMNS, LETTERS = 500, 100, 5000, 60, 2000  # at most
CHARTS, SERIES, POINTS = 40, 200, 2000
MEND = "make it again with the command that wrote it, or leave it out"
SCALES = ("linear", "log")
KINDS = {"line", "points", "bars", "level", "upright"}


@dataclass(frozen=True)
class Result:
    """One file: what it shows, and where it comes from."""

    name: str  # of a file and of an anchor: letters, digits and dashes
    file: Path
    said: bytes  # the file as it is
    provenance: Mapping[str, Any] = field(default_factory=dict)
    tables: Sequence[Grid] = ()
    explained: str = ""
    charts: Sequence[Mapping[str, Any]] = ()

    @property
    def study(self) -> str:
        return str(self.provenance.get("study", self.name))

    @property
    def command(self) -> str:
        return str(self.provenance.get("command", ""))


def read(places: Sequence[Path]) -> list[Result]:
    """All result files of these files and folders, in order."""
    paths = list(dict.fromkeys(path for place in places for path in _files(place)))
    if not paths:
        named = ", ".join(map(str, places))
        raise BadInput(named, "no result file", "name result.json files, or the folder that `stap study --out` wrote")
    if len(paths) > FILES:
        raise BadInput(str(places[0]), f"more than {FILES} result files", "name fewer")
    taken: set[str] = set()
    return [_read(path, _name(path, taken)) for path in paths]


def _files(place: Path) -> Iterator[Path]:
    """A file itself; of a folder the JSON files in it, and every result.json below."""
    if not place.is_dir():
        yield place
        return
    yield from sorted(path for path in place.glob("*.json") if path.name != "study.json")
    yield from sorted(path for path in place.rglob(RESULT) if path.parent != place)


def _name(path: Path, taken: set[str]) -> str:
    """After its file, or its folder where all files are called the same."""
    given = path.absolute().parent.name if path.name == RESULT else path.stem
    plain = re.sub(r"[^a-z0-9]+", "-", given.lower())[:60].strip("-") or "result"
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name)
    return name


def _read(path: Path, name: str) -> Result:
    said = read_bytes(path, LARGEST)
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        raise BadInput(str(path), "damaged: no JSON", MEND) from None
    if not isinstance(told, dict):
        raise BadInput(str(path), "no result of ours", MEND)
    where = str(path)
    provenance = _of(told.get("provenance", {}), dict, where, "provenance")
    tables = [_table(each, where) for each in _some(told.get("tables", []), TABLES, where, "tables")]
    figure = _of(told.get("figure", {}), dict, where, "figure")
    charts = [_chart(each, where) for each in _some(figure.get("charts", []), CHARTS, where, "charts")]
    return Result(name, path, said, provenance, tables, _words(figure.get("explained", ""), where), charts)


def _table(told: Any, where: str) -> Grid:
    told = _of(told, dict, where, "a table")
    headers = _cells(told.get("headers"), where)
    rows = [_cells(row, where) for row in _some(told.get("rows"), ROWS, where, "rows")]
    if any(len(row) != len(headers) for row in rows):
        raise BadInput(where, "a row of a table has more or fewer cells than its head", MEND)
    return Grid(_words(told.get("title", ""), where), headers, rows, _words(told.get("caption", ""), where))


def _cells(told: Any, where: str) -> list[str]:
    return [_words(cell, where) for cell in _some(told, COLUMNS, where, "cells")]


def _chart(told: Any, where: str) -> dict[str, Any]:
    """What `describe/drawn.py` tells, and nothing that could not be drawn."""
    told = _of(told, dict, where, "a chart")
    series = [_series(each, where) for each in _some(told.get("series"), SERIES, where, "series")]
    axes = {name: _axis(told.get(name), where) for name in ("x", "y")}
    return {"title": _words(told.get("title", ""), where), **axes, "series": series}


def _axis(told: Any, where: str) -> dict[str, Any]:
    told = _of(told, dict, where, "an axis")
    limits = _numbers(told.get("limits"), where)
    named = [_some(each, 2, where, "a tick") for each in _some(told.get("names", []), POINTS, where, "names")]
    names = [(_number(place, where), _words(name, where)) for place, name in (each for each in named if len(each) == 2)]
    scale = told.get("scale")
    if scale not in SCALES or len(limits) != 2 or None in limits or (scale == "log" and min(_sure(limits)) <= 0):
        raise BadInput(where, f"no axis can be {short(told)}", MEND)
    label, base = _words(told.get("label", ""), where), _number(told.get("base", 10.0), where)
    return {"label": label, "scale": scale, "base": base, "limits": limits, "names": names}


def _series(told: Any, where: str) -> dict[str, Any]:
    told = _of(told, dict, where, "a series")
    if told.get("kind") not in KINDS:
        raise BadInput(where, f"a series is {short(told.get('kind'))}, which nobody can draw", MEND)
    words = {key: _words(told.get(key, ""), where) for key in ("kind", "label", "colour", "dash", "mark", "along")}
    flags = {key: bool(told.get(key)) for key in ("again", "hollow", "flat")}
    if told["kind"] in ("level", "upright"):
        return {**words, **flags, "at": _number(told.get("at"), where)}
    lists = {key: _numbers(told.get(key, []), where) for key in ("x", "y", "deviation", "thick")}
    if len(lists["x"]) != len(lists["y"]) or any(
        lists[key] and len(lists[key]) != len(lists["x"]) for key in ("deviation", "thick")
    ):
        raise BadInput(where, "a series has more of one coordinate than of the other", MEND)
    return {**words, **flags, **lists}


def _some(told: Any, most: int, where: str, what: str) -> list[Any]:
    found: list[Any] = _of(told, list, where, what)
    if len(found) > most:
        raise BadInput(where, f"{len(found):,} {what}, more than {most:,}", MEND)
    return found


def _of(told: Any, kind: type, where: str, what: str) -> Any:
    if not isinstance(told, kind):
        raise BadInput(where, f"{what}: {short(told)} is no {kind.__name__}", MEND)
    return told


def _words(told: Any, where: str) -> str:
    if not isinstance(told, str) or len(told) > LETTERS:
        raise BadInput(where, f"{short(told)} where words belong", MEND)
    return told


def _numbers(told: Any, where: str) -> list[float | None]:
    return [_number(value, where) for value in _some(told, POINTS, where, "values")]


def _number(told: Any, where: str) -> float | None:
    if told is None:
        return None
    if isinstance(told, bool) or not isinstance(told, int | float) or not abs(told) < 1e300:
        raise BadInput(where, f"{short(told)} where a number belongs", MEND)
    return float(told)


def _sure(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
