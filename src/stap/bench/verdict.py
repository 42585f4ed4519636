"""How a benchmark reports: a row a figure, with its bound where there is one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One measured value; `bound` says in words what it has to keep, `held` whether it does."""

    what: str
    value: float
    unit: str
    bound: str = ""
    held: bool = True


def publish(title: str, figures: list[Figure]) -> dict[str, Any]:
    """Print the table and give the same as JSON."""
    table = Table(title=title, title_justify="left")
    for column, justify in (("figure", "left"), ("value", "right"), ("unit", "left"), ("bound", "left"), ("", "left")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for figure in figures:
        mark = "" if not figure.bound else "[green]held[/]" if figure.held else "[red]missed[/]"
        value = f"{figure.value:,.0f}" if figure.value >= 1000 else f"{figure.value:.4g}"
        table.add_row(figure.what, value, figure.unit, figure.bound, mark)
    Console().print(table)
    return {"title": title, "figures": [asdict(figure) for figure in figures]}


def alone(code: str, *arguments: str) -> tuple[float, float]:
    """(seconds, peak MB) of a snippet in a process of its own; start-up and imports are not counted in the seconds."""
    program = (
        "import resource, sys, time\n"
        "import polars as pl\n"
        "from stap import sources\n"
        "begin = time.perf_counter()\n"
        f"{code}\n"
        "print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)
