"""What a run leaves to look at: log.jsonl (a line an epoch) and figures/curve.png."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from stap.errors import BadInput, first_line
from stap.files import replacing
from stap.train.checkpoint import MOST

NUMBER = (int, float)
KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("epoch", "context", "steps", "events"), (int,)),
    **dict.fromkeys(("loss", "seconds"), NUMBER),
    "validation": (dict,),
}
PARTS = ("validation", "training", "watch")  # tables of figures in a line; the first is always there


def append(path: Path, line: dict[str, Any]) -> None:
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The whole lines; one that a kill tore off is left out, and a damaged one is named."""
    if not path.exists():
        return []
    lines = []
    for row, text in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            lines.append(_checked(json.loads(text)))
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            why = f"no line of a run's log ({first_line(error)})"
            raise BadInput(str(path), why, "take the line out, or start anew in another folder", row) from None
    return lines


def _checked(line: dict[str, Any]) -> dict[str, Any]:
    """Everything that a figure is drawn from has its type and is a number that can be."""
    for name, kind in KINDS.items():
        if type(line[name]) not in kind:
            raise ValueError(f"{name} is {line[name]!r}")
    numbers = [(name, value) for name, value in line.items() if name not in PARTS]
    for name, value in (*numbers, *(each for part in PARTS for each in line.get(part, {}).items())):
        if type(value) not in NUMBER or not 0 <= value <= MOST:
            raise ValueError(f"{name} is {value!r}")
    if line["validation"] and not {"loss", "HR@1", "HR@5"} <= line["validation"].keys():
        raise ValueError("validation without its figures")
    return line


def rewind(path: Path, epoch: int) -> None:
    """Drop what was logged after the checkpoint: those epochs will be done again."""
    kept = [line for line in read(path) if line["epoch"] <= epoch]
    with replacing(path) as draft:
        draft.write_text("".join(json.dumps(line) + "\n" for line in kept))


def draw_curve(lines: list[dict[str, Any]], path: Path, chance: float) -> None:
    """The loss, and where people validate their hits below, by minutes; the shades are the contexts' lengths."""
    from matplotlib.figure import Figure

    checked = [line for line in lines if line["validation"]]
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots(2 if checked else 1, 1, sharex=True, squeeze=False)[:, 0]
    minutes = [line["seconds"] / 60 for line in lines]
    when = [line["seconds"] / 60 for line in checked]
    loss = axes[0]
    loss.plot(minutes, [line["loss"] for line in lines], label="training")
    if lines and "blend" in lines[0]:
        loss.plot(minutes, [line["blend"] for line in lines], label="the blend alone", color="0.5", linestyle="--")
    if checked:
        loss.axhline(chance, color="0.6", linewidth=0.8, linestyle=":")
        loss.annotate("chance", (0.5, chance), xycoords=("axes fraction", "data"), color="0.5", fontsize=8, va="bottom")
        loss.plot(when, [line["validation"]["loss"] for line in checked], label="validation")
        for colour, metric in (("C1", "HR@1"), ("C2", "HR@5")):
            axes[1].plot(when, [line["validation"][metric] for line in checked], color=colour, label=metric)
        axes[1].set_ylabel("validation, percent")
        axes[1].legend(frameon=False, loc="lower right")
    loss.set_ylabel("cross-entropy")
    loss.legend(frameon=False, loc="center right")
    axes[-1].set_xlabel("minutes of training")
    _shade_contexts(lines, tuple(axes))
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as draft:
        figure.savefig(draft, format="png", dpi=100)


def _shade_contexts(lines: list[dict[str, Any]], axes: tuple[Any, ...]) -> None:
    begin = 0.0
    for context, epochs in groupby(lines, itemgetter("context")):
        *_, last = epochs
        end, shade = last["seconds"] / 60, 1 - 0.04 * (context.bit_length() % 4)
        for axis in axes:
            axis.axvspan(begin, end, color=str(shade), zorder=-1, linewidth=0)
        axes[0].annotate(f"L = {context}", (begin, 0.02), xycoords=("data", "axes fraction"), fontsize=8)
        begin = end
