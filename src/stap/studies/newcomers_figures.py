"""The tables and the figure of `stap study newcomers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from stap.describe.canvas import drawing
from stap.metrics import percent
from stap.rivals.config import KINDS
from stap.studies import runs
from stap.studies.experiment import Found
from stap.studies.rivals_figures import difference, points, pooled
from stap.terminal import Grid

OTHERS = {"mfu": "#999999", "previous": "#666666", "blend": "#22303f", "stap": "#d55e00"}
COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
EXPLAINED = (
    "Models trained on what came before a day, asked about what came after. Left: answers by how often the person had "
    "opened that app before. Middle: by months since that day. Bars: one standard deviation, where there are several "
    "seeds. Right: answers outside the fixed vocabulary. Dashed: rivals that may name any app they know; solid: among "
    "apps seen so far. stap: the shipped weights, which were trained on UbiqLog's people."
)
Groups = dict[str, dict[str, dict[int, dict[str, list[int]]]]]  # known or new -> predictor -> seed -> user -> tally


def _hits(seeds: list[Found], part: str, key: str) -> list[float]:
    counts = [np.array(each[part][key]) for each in seeds]
    return [float(percent(each)[0]) for each in counts if each.sum()]


def _numbers(rows: Mapping[str, list[Found]], part: str) -> dict[str, int]:
    """How many answers each column has."""
    return {key: sum(counts) for key, counts in next(iter(rows.values()))[0][part].items()}


def _table(title: str, said: str, rows: Mapping[str, list[Found]], part: str) -> Grid:
    """HR@1 by a part of the answers."""
    lines, keys = [], list(_numbers(rows, part))
    for name, seeds in rows.items():
        every = [float(percent(np.array(each["all"]))[0]) for each in seeds]
        cells = (_hits(seeds, part, key) for key in keys)
        lines.append((name, runs.spread(every), *(runs.spread(cell) if cell else "-" for cell in cells)))
    counted = ", ".join(f"{number:,}" for number in _numbers(rows, part).values())
    return Grid(title, ("predictor", "all", *keys), lines, f"HR@1, percent, {said} ({counted} answers).")


def launches(people: str, day: str, rows: Mapping[str, list[Found]]) -> Grid:
    said = (
        "an app's first launch is out of reach of whoever ranks apps seen so far; any app: rivals that may name every "
        "app of their vocabulary; stap: the shipped weights, which were trained on UbiqLog's people; answers after "
        f"{day}, by which launch of that app by that person it is"
    )
    return _table(f"{people}: an app's first launches", said, rows, "launches")


def months(people: str, day: str, rows: Mapping[str, list[Found]]) -> Grid:
    said = f"by months since {day}, the last day that training knew"
    return _table(f"{people}: while time goes on", said, rows, "months")


def groups(rows: Mapping[str, list[Found]], known: set[str]) -> Groups:
    """Who needs no seed is asked once, and counts for each."""
    seeds = max(len(each) for each in rows.values())

    def of(each: Found, old: bool) -> dict[str, list[int]]:
        return {user: counts for user, counts in each["users"].items() if (user in known) is old}

    return {
        group: {name: {seed: of(each[seed % len(each)], old) for seed in range(seeds)} for name, each in rows.items()}
        for group, old in (("known", True), ("new", False))
    }


def acquaintance(people: str, grouped: Groups) -> Grid:
    """HR@1 of people whom training knew and of newcomers, and what it is less `mfu` and `previous`."""
    lines = []
    for name in grouped["known"]:
        cells = [name]
        for rows in grouped.values():
            shares = [pooled(users)["HR@1"] for users in rows[name].values() if users]
            cells.append(runs.spread(shares) if shares else "-")
            for other in ("mfu", "previous"):
                found = difference(rows[name], rows[other]) if other in rows and other != name else {}
                cells.append(points(found.get("HR@1")))
        lines.append(tuple(cells))
    numbers = " and ".join(f"{len(next(iter(rows['mfu'].values())))} {group}" for group, rows in grouped.items())
    headers = [f"{group}{what}" for group in grouped for what in ("", " less mfu", " less previous")]
    said = (
        f"HR@1 after the day, percent, of people whom training knew and of new ones ({numbers}); points by which a "
        "predictor is ahead, in brackets 95 % by paired bootstrap over users. =: the test does not tell them apart."
    )
    return Grid(f"{people}: people known and new", ("predictor", *headers), lines, said)


def outside(known: Found) -> Grid:
    rows = [
        (f"{what}, {key}", f"{missed:,}", f"{number:,}", f"{100 * missed / max(1, number):.2f}")
        for what, part in known.get("outside", {}).items()
        for key, (missed, number) in part.items()
    ]
    headers = ("", "outside", "answers", "percent")
    said = "Answers whose app no training of that day knew: by months since that day, and of people known and new."
    return Grid("What a fixed vocabulary cannot say", headers, rows, said)


def draw(rows: Mapping[str, list[Found]], known: Found) -> Callable[[Path], None]:
    def draw_on(path: Path) -> None:
        with drawing(path, (14, 4.8), EXPLAINED) as figure:
            left, middle, right = figure.subplots(1, 3, width_ratios=(5, 5, 3))
            for axes, part in ((left, "launches"), (middle, "months")):
                keys = list(_numbers(rows, part))
                place = [int(key) for key in keys] if part == "months" else list(range(len(keys)))
                for name, seeds in rows.items():
                    kind = name.partition(",")[0]
                    every = [_hits(seeds, part, key) or [np.nan] for key in keys]
                    hits = [np.mean(each) for each in every]
                    spread = [np.std(each, ddof=1) if len(each) > 1 else 0.0 for each in every]
                    colour = COLOURS[KINDS.index(kind)] if kind in KINDS else OTHERS[kind]
                    form, label = ("o--", "_nolegend_") if "," in name else ("o-", name)
                    style = {"color": colour, "label": label, "markersize": 4}
                    if any(spread):
                        axes.errorbar(place, hits, spread, fmt=form, capsize=2, **style)
                    else:
                        axes.plot(place, hits, form, **style)
                axes.set_xticks(place, keys)
            left.set(title="HR@1 by an app's launches", ylabel="percent", xlabel="which launch of the app it is")
            left.legend(frameon=False, fontsize=9, ncols=2)
            middle.set(title="HR@1 while time goes on", ylabel="percent", xlabel="months since that day")
            months = known.get("outside", {}).get("months", {})
            right.bar(list(months), [100 * a / max(1, n) for a, n in months.values()], color=COLOURS[0])
            right.set(title="Outside the vocabulary", ylabel="percent of answers", xlabel="months since that day")

    return draw_on
