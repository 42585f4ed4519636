"""The picture of `stap study launch`: how likely the app used last comes again, by how long nothing was used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stap.describe.canvas import INK, drawing

EXPLAINED = (
    "By length of the pause: how often the app used last was opened again, and how likely each predictor held that "
    "when asked. The nearer its line is to the black one, the more its probabilities can be believed."
)
LINES: dict[str, dict[str, Any]] = {  # told apart by colour, mark and dash, so that one of them is enough
    "came": {"color": INK, "marker": "o", "linewidth": 3.5, "markersize": 9},
    "stap": {"color": "#0072b2", "marker": "s", "linewidth": 2.5, "markersize": 8},
    "blend": {"color": "#d55e00", "marker": "^", "linewidth": 2.5, "markersize": 9, "linestyle": "--"},
}
LABELS = {"came": "it came again", "stap": "stap held it likely", "blend": "blend held it likely"}
LARGE = 14


def draw(curves: dict[str, dict[str, Any]], path: Path) -> None:
    """A panel for each group of people, from `launch_figures`' curves."""
    with drawing(path, (1 + 6 * len(curves), 5.6), EXPLAINED) as figure:
        axes = figure.subplots(1, len(curves), squeeze=False, sharey=True)[0]
        for axis, (title, curve) in zip(axes, curves.items(), strict=True):
            met = {length: row for length, row in curve.items() if row["n"]}
            for who, style in LINES.items():
                if all(who in row for row in met.values()):
                    axis.plot(range(len(met)), [row[who] for row in met.values()], label=LABELS[who], **style)
            ticks = [f"{length}\n{row['n']:,}" for length, row in met.items()]
            axis.set_xticks(range(len(met)), ticks)
            axis.tick_params(labelsize=LARGE - 2)
            axis.set_title(title, fontsize=LARGE)
            axis.set_xlabel("pause in minutes, and how many launches", fontsize=LARGE)
        axes[0].set_ylim(bottom=0)
        axes[0].set_ylabel("the app used last again, %", fontsize=LARGE)
        axes[0].legend(frameon=False, fontsize=LARGE - 1)
