"""`stap report`: everything that was measured, from result files alone, as one page with its tables beside it.

DIR/index.html    the page: no other file and no network is needed to read it
DIR/tables/       each table as CSV and as LaTeX
DIR/figures/      the values of each chart, as CSV
DIR/results/      the result files, which the page links to
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stap.errors import BadInput
from stap.files import replacing
from stap.report.blocks import Folder
from stap.report.page import page
from stap.report.results import read
from stap.terminal import Tick, quiet

PAGE = "index.html"


def build(places: Sequence[Path], out: Path, tick: Tick = quiet) -> list[Path]:
    """Read all result files of these places, and write the report; gives what was written, the page first."""
    folder = Folder()
    whole = page(read(places), folder)
    written = [_write(out / PAGE, whole)]
    for name, content in folder.files.items():
        written.append(_write(out / name, content))
        tick(1)
    return written


def _write(path: Path, content: str | bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            str(path.parent), f"no folder can be made here ({error.strerror})", "choose another --out"
        ) from None
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
