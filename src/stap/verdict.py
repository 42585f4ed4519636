"""How benches and studies report: a row a figure, with its bound where there is one; and where figures come from."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from stap import __version__, terminal


@dataclass(frozen=True)
class Figure:
    """One measured value; `bound` says in words what it has to keep, `held` whether it does."""

    what: str
    value: float
    unit: str
    bound: str = ""
    held: bool = True

    @classmethod
    def at_least(cls, what: str, value: float, unit: str, least: float) -> Figure:
        return cls(what, value, unit, f"at least {least:,}", bool(value >= least))

    @classmethod
    def at_most(cls, what: str, value: float, unit: str, most: float) -> Figure:
        return cls(what, value, unit, f"at most {most:,}", bool(value <= most))


def publish(title: str, figures: list[Figure]) -> dict[str, Any]:
    """Print the table and give the same as JSON."""
    rows = []
    for figure in figures:
        mark = Text("held", "green") if figure.held else Text("missed", "red")
        value = f"{figure.value:,.0f}" if figure.value >= 1000 else f"{figure.value:.4g}"
        rows.append((figure.what, value, figure.unit, figure.bound, mark if figure.bound else ""))
    headers = ("figure", "value", "unit", "bound", "")
    table = terminal.Grid(title, headers, rows, words=headers[2:])
    terminal.out.print(table)
    return {"title": title, "figures": [asdict(figure) for figure in figures], "tables": [table.data()]}


def provenance() -> dict[str, str]:
    """Of whatever this process finds: the command, the source that ran, the machine, the time."""
    return {
        "command": shlex.join(["stap", *sys.argv[1:]]),
        "version": __version__,
        "revision": _revision(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "finished": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }


def _revision() -> str:
    """Of the source that runs, where it is a git checkout."""
    try:
        asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
