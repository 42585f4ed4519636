"""How benches and studies report: a row a figure, with its bound where there is one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.text import Text

from stap import terminal


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
    terminal.out.print(terminal.Grid(title, headers, rows, words=headers[2:]))
    return {"title": title, "figures": [asdict(figure) for figure in figures]}
