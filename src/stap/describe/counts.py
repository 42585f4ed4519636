"""What is in a log: counts for the terminal, and the paper's figure of distinct apps and events per user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stap.describe.canvas import drawing, plain
from stap.events import DAY, Corpus, Floats, Longs
from stap.windows import CONTEXT, VOCABULARY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUARTILES = {"min": 0, "25%": 0.25, "median": 0.5, "75%": 0.75, "max": 1}
EXPLAINED = (
    "How many people have how many distinct apps (above) and events (below). Black: the median; dashed: what the "
    f"paper's model has room for, V = {VOCABULARY} apps and L = {CONTEXT} events at once."
)


def counts(corpus: Corpus) -> dict[str, Any]:
    """Totals, and the quartiles over users of what the method depends on."""
    usages = np.diff(corpus.offsets)
    first, last = corpus.start[corpus.offsets[:-1]], corpus.end[corpus.offsets[1:] - 1]
    per_user = {
        "usages": usages,
        "distinct apps": corpus.app_counts,
        "days": (last - first) / DAY,
        "usages a day": usages / np.maximum((last - first) / DAY, 1.0),
    }
    return {
        "users": len(corpus.users),
        "distinct apps": len({name for names in corpus.apps for name in names}),
        "usages": len(corpus.app),
        "events": 2 * len(corpus.app),
        "first": str(np.datetime64(round(corpus.start.min() * 60), "s")),
        "last": str(np.datetime64(round(corpus.end.max() * 60), "s")),
        f"users with more than {VOCABULARY} apps": int((corpus.app_counts > VOCABULARY).sum()),
        f"users with more than {CONTEXT} events": int((2 * usages > CONTEXT).sum()),
        "per user": {
            name: dict(zip(QUARTILES, np.quantile(values, list(QUARTILES.values())), strict=True))
            for name, values in per_user.items()
        },
    }


def draw_distributions(corpora: dict[str, Corpus], path: Path) -> None:
    """A column a log; distinct apps per user above, events per user below."""
    with drawing(path, (6 * len(corpora), 7), EXPLAINED) as figure:
        axes = figure.subplots(2, len(corpora), squeeze=False)
        for column, (name, corpus) in enumerate(corpora.items()):
            events = 2 * np.diff(corpus.offsets)
            bins = np.geomspace(max(1, events.min()), events.max() + 1, 31)
            apps = corpus.app_counts
            _histogram(axes[0][column], "distinct apps", apps, _bins(apps), (VOCABULARY, f"V = {VOCABULARY}"))
            _histogram(axes[1][column], "events", events, bins, (CONTEXT, f"L = {CONTEXT}"))
            axes[1][column].set_xscale("log")
            for row in range(2):
                letter = chr(ord("A") + row * len(corpora) + column)
                axes[row][column].set_title(f"({letter}) {plain(Path(name).name)}")


def _histogram(axis: Axes, what: str, values: Longs, bins: Floats, limit: tuple[int, str]) -> None:
    from matplotlib.ticker import MaxNLocator

    colour = "tab:blue" if what == "distinct apps" else "tab:orange"
    axis.hist(values, bins=bins.tolist(), color=colour, edgecolor="white")
    axis.axvline(float(np.median(values)), color="black", label=f"median {np.median(values):,.0f}")
    if limit[0] <= 4 * values.max():
        axis.axvline(limit[0], color="crimson", linestyle="--", label=limit[1])
    axis.set(xlabel=f"{what} per user", ylabel="users")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend()


def _bins(values: Longs) -> Floats:
    """At most 30 bins, each a whole number of apps wide."""
    width = max(1, -(-int(np.ptp(values) + 1) // 30))
    return np.arange(values.min(), values.max() + width + 1, width) - 0.5
