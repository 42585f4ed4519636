"""What is in a log: counts for the terminal, and the paper's figure of distinct apps and events per user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stap.events import Corpus
from stap.files import replacing
from stap.windows import CONTEXT, VOCABULARY


def counts(corpus: Corpus) -> dict[str, Any]:
    """Totals, and the quartiles over users of what the method depends on."""
    usages = np.diff(corpus.offsets)
    first, last = corpus.start[corpus.offsets[:-1]], corpus.end[corpus.offsets[1:] - 1]
    per_user = {
        "usages": usages,
        "distinct apps": corpus.app_counts,
        "days": (last - first) / (24 * 60),
        "usages a day": usages / np.maximum((last - first) / (24 * 60), 1.0),
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
            name: dict(
                zip(("min", "25%", "median", "75%", "max"), np.quantile(x, [0, 0.25, 0.5, 0.75, 1]), strict=True)
            )
            for name, x in per_user.items()
        },
    }


def draw_distributions(corpora: dict[str, Corpus], path: Path) -> None:
    """A column a log; distinct apps per user above, events per user below, the median and the paper's limits marked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(corpora), figsize=(6 * len(corpora), 7), squeeze=False, layout="constrained")
    for column, (name, corpus) in enumerate(corpora.items()):
        rows = (
            ("distinct apps", corpus.app_counts, VOCABULARY, f"V = {VOCABULARY}", "tab:blue"),
            ("events", 2 * np.diff(corpus.offsets), CONTEXT, f"L = {CONTEXT}", "tab:orange"),
        )
        for row, (what, values, limit, label, colour) in enumerate(rows):
            axis = axes[row][column]
            bins = (
                _bins(values) if what == "distinct apps" else np.geomspace(max(1, values.min()), values.max() + 1, 31)
            )
            axis.hist(values, bins=bins, color=colour, edgecolor="white", linewidth=0.5)
            axis.axvline(
                float(np.median(values)), color="black", linewidth=1.5, label=f"median {np.median(values):,.0f}"
            )
            if limit <= 4 * values.max():
                axis.axvline(limit, color="crimson", linestyle="--", linewidth=1.5, label=label)
            if what == "events":
                axis.set_xscale("log")
            axis.set_xlabel(f"{what} per user", fontsize=13)
            axis.set_ylabel("users", fontsize=13)
            axis.set_title(
                f"({chr(ord('A') + row * len(corpora) + column)}) {Path(name).name}", fontsize=14, loc="left"
            )
            axis.yaxis.get_major_locator().set_params(integer=True)
            axis.tick_params(labelsize=11)
            axis.legend(fontsize=11)
    with replacing(path) as draft:
        figure.savefig(draft, dpi=130, format="png")
    plt.close(figure)


def _bins(values: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """At most 30 bins, each a whole number of apps wide."""
    width = max(1, -(-int(np.ptp(values) + 1) // 30))
    return np.arange(values.min(), values.max() + width + 1, width) - 0.5
