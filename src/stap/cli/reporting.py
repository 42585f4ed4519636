"""`stap report`: everything that was measured, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stap import report as reports
from stap import terminal

RESULTS = Path("results")  # where the README's commands put them


def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS", help="Result files, or folders with some; the folder `results` otherwise."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the page and its tables go.")] = Path(
        "report"
    ),
) -> None:
    """Put all result files onto one page: the paper's tables and figures with ours beside them, methods, deviations.

    The page needs no network and no other file; beside it lie each table as CSV and LaTeX, and the result files.

    Example: `stap report results --out report`
    """
    with terminal.progress("reporting"):
        page, *others = reports.build(results or [RESULTS], out)
    terminal.say(f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB) and {len(others)} files beside it")
