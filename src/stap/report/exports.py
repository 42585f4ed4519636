"""A table or a chart as other programs take it: CSV, and LaTeX for a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from stap.terminal import Grid, harmless

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "±": r"$\pm$",
    "→": r"$\to$",
    "<": r"$<$",
    ">": r"$>$",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


def table_csv(table: Grid) -> str:
    return _csv([table.headers, *table.rows])


def chart_csv(chart: Mapping[str, Any]) -> str:
    """A row a value."""
    rows: list[Sequence[object]] = [("series", chart["x"]["label"] or "x", chart["y"]["label"] or "y", "deviation")]
    for each in chart["series"]:
        if each["kind"] == "level":
            rows.append((each["label"], "", each["at"], ""))
        elif each["kind"] == "upright":
            rows.append((each["label"], each["at"], "", ""))
        else:
            halves = each["deviation"] or [""] * len(each["x"])
            rows += [(each["label"], *row) for row in zip(each["x"], each["y"], halves, strict=True)]
    return _csv(rows)


def _csv(rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[_cell(cell) for cell in row] for row in rows])
    return out.getvalue()


def _cell(cell: object) -> object:
    """Numbers as they are; words that begin like a formula get an apostrophe, as spreadsheets have it."""
    if not isinstance(cell, str):
        return "" if cell is None else cell
    words = harmless(str(cell))
    return "'" + words if words.startswith(FORMULA) and not _figure(words) and words != "-" else words


def _figure(words: str) -> bool:
    try:
        float(words.split(" ± ")[0].replace(",", "").removesuffix(" %"))
    except ValueError:
        return False
    return True


def table_latex(table: Grid, source: str) -> str:
    """A table of the package booktabs, with a comment that says where its figures come from."""
    columns = "l" + "r" * (len(table.headers) - 1)
    rows = [" & ".join(latex(str(cell)) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(latex(header) for header in table.headers) + r" \\"
    caption = ". ".join(part.strip().removesuffix(".") for part in (table.title, table.caption) if part.strip())
    return "\n".join(
        [
            "% " + harmless(source).replace("\n", " "),
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{latex(caption)}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            f"    {head}",
            r"    \midrule",
            *(f"    {row}" for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex(words: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in harmless(words.replace("\n", " ")))
