"""The picture of a comparison: the prior as bands, real people as lines and points on top of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stap.describe.canvas import GREY, drawing
from stap.describe.comparison import Comparison
from stap.describe.statistics import DISTANCES, PREDICTORS, REPEATS, SESSION_GAP
from stap.events import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRIOR, MEDIAN, REAL = "#7f9fc4", "#35608f", "#d1495b"
BAND = (0.01, 0.25, 0.5, 0.75, 0.99)  # of synthetic people
GAPS = np.geomspace(1 / 60, 24 * 60, 80)  # minutes
TICKS = (1, 2, 5, 10, 20, 50, 100)
LENGTHS = np.unique(np.geomspace(1, 100, 60).round())
EXPLAINED = (
    "What sets people apart, in six panels: a red line or point is one person of the logs, the blue bands are "
    "synthetic people. Where red lies within the blue, the prior has people like these."
)


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Six panels: repeat distances, hit rates, their distances, gaps, session lengths, entropies."""
    with drawing(path, (15, 9), EXPLAINED) as figure:
        axes = figure.subplots(2, 3)
        _repeats(axes[0, 0], comparison)
        _points(axes[0, 1], comparison, {name: f"HR@1 {name}" for name in PREDICTORS})
        axes[0, 1].set(title="Hit rate of the classical predictors", ylabel="HR@1, percent")
        _points(axes[0, 2], comparison, {f"{a}\n− {b}": f"{a} - {b}" for a, b in DISTANCES})
        axes[0, 2].axhline(0, color=GREY, linewidth=0.8)
        axes[0, 2].set(title="What one kind of structure adds to another", ylabel="difference in HR@1, points")
        _curves(axes[1, 0], comparison, GAPS, _gaps)
        axes[1, 0].set(title="Gaps between usages", ylabel="share of gaps that are shorter", ylim=(0, 1))
        axes[1, 0].set_xticks([1 / 60, 1 / 6, 1, 10, 60, 600], ["1 s", "10 s", "1 min", "10 min", "1 h", "10 h"])
        _curves(axes[1, 1], comparison, LENGTHS, _session_lengths)
        axes[1, 1].set(title="Session length", ylabel="share of sessions at least so long", xlabel="usages")
        axes[1, 1].set(ylim=(0, 1))
        axes[1, 1].set_xticks(TICKS, map(str, TICKS))
        _entropies(axes[1, 2], comparison)
        _legend(figure, comparison)


def _lines(axis: Axes, x: Sequence[float] | Floats, real: Floats, made: Floats) -> None:
    """The prior's 1-99 %, 25-75 % and median at every x, and a line for every real person; both (people, x)."""
    low, quarter, median, three, high = np.nanquantile(made, BAND, axis=0)
    axis.fill_between(x, low, high, color=PRIOR, alpha=0.25, linewidth=0)
    axis.fill_between(x, quarter, three, color=PRIOR, alpha=0.45, linewidth=0)
    axis.plot(x, median, color=MEDIAN, linewidth=1.8)
    axis.plot(x, real.T, color=REAL, alpha=0.45, linewidth=0.9)


def _repeats(axis: Axes, comparison: Comparison) -> None:
    names = [*(f"repeat at {name}" for name in REPEATS), "first-ever apps"]
    real, made = (np.stack([group[name] for name in names], axis=1) for group in (comparison.real, comparison.prior))
    _lines(axis, range(len(names)), real, made)
    axis.set_xticks(range(len(names)), [*REPEATS, "first-\never"])
    axis.set(title="How far back the next app is", ylabel="share of usages, percent", ylim=(0, None))
    axis.set_xlabel("place among the latest apps")


def _points(axis: Axes, comparison: Comparison, statistics: dict[str, str]) -> None:
    """A column a statistic: the prior's range, its middle half and median, and a point for every real person."""
    jitter = np.random.default_rng(0)
    for place, name in enumerate(statistics.values()):
        real = comparison.real[name]
        low, quarter, median, three, high = np.nanquantile(comparison.prior[name], BAND)
        axis.bar(place, high - low, bottom=low, width=0.62, color=PRIOR, alpha=0.25)
        axis.bar(place, three - quarter, bottom=quarter, width=0.62, color=PRIOR, alpha=0.45)
        axis.plot([place - 0.31, place + 0.31], [median, median], color=MEDIAN, linewidth=1.8)
        across = place + jitter.uniform(-0.2, 0.2, len(real))
        axis.scatter(across, real, s=16, color=REAL, alpha=0.75, linewidth=0, zorder=3)
    axis.set_xticks(range(len(statistics)), list(statistics))
    axis.grid(visible=False, axis="x")
    axis.margins(y=0.05)


def _curves(axis: Axes, comparison: Comparison, x: Floats, curve: Callable[[Floats], Floats]) -> None:
    """What a person's gaps between usages say at every x."""
    real, made = (
        np.stack([curve(log.start[1:] - log.end[:-1]) for log in corpus.everybody()])
        for corpus in (comparison.real_corpus, comparison.prior_corpus)
    )
    _lines(axis, x, real, made)
    axis.set_xscale("log")
    axis.minorticks_off()


def _gaps(gap: Floats) -> Floats:
    """Share of the gaps that are at most GAPS."""
    return np.searchsorted(np.sort(gap), GAPS, "right") / max(1, len(gap))


def _session_lengths(gap: Floats) -> Floats:
    """Share of the sessions of at least LENGTHS usages."""
    edges = np.concatenate([[0], np.flatnonzero(gap > SESSION_GAP) + 1, [len(gap) + 1]])
    length = np.sort(np.diff(edges))
    return 1.0 - np.searchsorted(length, LENGTHS, "left") / len(length)


def _entropies(axis: Axes, comparison: Comparison) -> None:
    x, y = "entropy of apps", "entropy given the app"
    axis.scatter(comparison.prior[x], comparison.prior[y], s=14, color=PRIOR, alpha=0.6, linewidth=0)
    axis.scatter(comparison.real[x], comparison.real[y], s=18, color=REAL, alpha=0.85, linewidth=0)
    axis.set(title="Entropy", xlabel="of the apps, bits", ylabel="of the next app given the current one, bits")


def _legend(figure: Figure, comparison: Comparison) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    made, real = len(comparison.prior_corpus.users), len(comparison.real_corpus.users)
    handles = [
        Line2D([], [], color=REAL, marker="o", markersize=4, linewidth=1, label=f"{real:,} real people"),
        Line2D([], [], color=MEDIAN, linewidth=1.8, label=f"median of {made:,} synthetic people"),
        Patch(color=PRIOR, alpha=0.65, label="their middle half"),
        Patch(color=PRIOR, alpha=0.25, label="their 1 to 99 %"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, fontsize=11.5)
