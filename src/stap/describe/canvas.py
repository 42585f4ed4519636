"""What all figures share: no screen needed, one look, a sentence below that says what is drawn, saved whole or not.

Saved to a path that ends in .json it is what the figure shows, as data (`describe/drawn.py`).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from stap.files import replacing
from stap.terminal import harmless

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GREY = "#22303f", "#8a96a3"
STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 12,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6eaee",
    "xtick.color": "#55616d",
    "ytick.color": "#55616d",
    "font.size": 10.5,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.1,
}


@contextmanager
def drawing(path: Path, size: tuple[float, float], explained: str) -> Iterator[Figure]:
    """An empty figure to draw on; when that is done it is explained and saved."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a name in letters that the font lacks is drawn as boxes
        figure = Figure(size, layout="constrained")
        yield figure
        figure.supxlabel(fill(explained, round(11 * size[0])), fontsize=10.5, color=INK, x=0.01, ha="left")
        with replacing(path) as draft:
            if path.suffix == ".json":
                from stap.describe.drawn import told

                draft.write_text(json.dumps(told(figure, explained)))
                return
            figure.savefig(draft, dpi=120, format=path.suffix[1:] if path.suffix in (".svg", ".pdf") else "png")


def plain(name: str) -> str:
    """A name as it may be drawn: nothing hidden in it, and no dollar begins a formula."""
    return harmless(name).replace("$", r"\$")
