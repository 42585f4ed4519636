"""How figures look as tables. Numbers in, renderables out, nothing computed."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stap.cli import charts
from stap.describe.counts import QUARTILES
from stap.metrics import NAMES
from stap.terminal import Grid, harmless


def evaluation(result: dict[str, Any]) -> Grid:
    """The table of predictors."""
    entries = result["predictors"]
    rows = _scores({name: entry["pooled"] for name, entry in entries.items()})
    parts = {"pause": "pause", "at_once": "at once"} if result["protocol"] == "launch" else {"open": "open"}
    for row, entry in zip(rows, entries.values(), strict=True):
        span = entry["interval"].get("HR@1")
        row.append("{:.1f}-{:.1f}".format(*span) if span else "-")
        row += [f"{entry[part]['HR@1']:.2f}" if entry[part]["n"] else "-" for part in parts]
    count = next(iter(entries.values()))["pooled"]["n"]
    explained = {
        "pause": "pause, at once: HR@1 of launches more than a minute after the last close, and of the others",
        "open": "open: HR@1 just after an open",
    }
    return Grid(
        f"{result['protocol']} protocol, {count:,} predictions, percent",
        ("predictor", *NAMES, "95 %", *parts.values()),
        rows,
        caption=f"95 %: interval of HR@1 over users; {explained[next(iter(parts))]}",
    )


def _scores(rows: dict[str, dict[str, float]]) -> list[list[str | Text]]:
    """A row a predictor, a cell a metric; the best of each metric in bold."""
    best = {metric: max(row[metric] for row in rows.values()) for metric in NAMES}
    return [
        [name, *(Text(f"{row[m]:.2f}", style="bold" if row[m] == best[m] else "") for m in NAMES)]
        for name, row in rows.items()
    ]


def by_user(result: dict[str, Any], metric: str = "HR@1") -> Grid:
    """One metric, a row a user, a column a predictor."""
    entries = result["predictors"]
    users: dict[str, Any] = next(iter(entries.values()))["users"]
    rows = [
        (user, *(f"{entry['users'][user][metric]:.2f}" for entry in entries.values()), f"{row['n']:,}")
        for user, row in users.items()
    ]
    return Grid(f"{metric} by user", ("user", *entries, "n"), rows)


def people(title: str, figures: dict[str, Any]) -> RenderableType:
    """One group of `stap study people`: everything and the cold start, then the worst user and the calibration."""
    worst = figures["worst user"]
    lines = [
        f"worst user, HR@1: {worst['user']}, {worst['margin']:+.2f} points beside {worst['best classical']} "
        f"({worst['n']:,} usages)",
        *(
            f"calibration of stap, {what}: expected error {row['error']:.2f}, foretold {row['foretold']:.2f}, "
            f"came {row['came']:.2f}"
            for what, row in figures["calibration"].items()
        ),
    ]
    scopes = [scope for scope in figures if scope == "pooled" or scope.startswith("first ")]
    grids = [_beside(f"{title}, {scope}: {figures['users']} users", figures[scope]) for scope in scopes]
    return Group(*grids, *(Text(harmless(line)) for line in lines))


def anew(title: str, figures: dict[str, Any]) -> Grid:
    """The same people without a past, again and again."""
    return _beside(f"{title}: {figures['stretches']} stretches", figures["pooled"])


def _beside(title: str, figures: dict[str, Any]) -> Grid:
    """Predictors, how far STAP is ahead of the others, and what nobody could have known."""
    rows, margins = figures["predictors"], figures["margins"]
    ahead = [
        (label, *(f"{margins[metric][over]:+.2f}" for metric in NAMES))
        for over, label in (("over classical", "stap over the best classical"), ("over gbdt", "stap over gbdt"))
        if over in margins["HR@1"]
    ]
    return Grid(
        f"{title}, {rows['stap']['n']:,} predictions, stream protocol, percent",
        ("predictor", *NAMES),
        [*_scores(rows), *ahead],
        caption="; ".join(f"{label}: {value:.2f}" for label, value in figures["oracle"].items()) + "\n",
    )


def description(log: str, counts: dict[str, Any]) -> RenderableType:
    """Totals, then what one person did, or quartiles over many."""
    totals = Table.grid(padding=(0, 3))
    for name, value in counts.items():
        if not isinstance(value, dict):
            totals.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    title = Text(harmless(log), style="bold", overflow="fold")
    if "person" in counts:
        return Group(title, totals, charts.person(counts["person"]))
    rows = [
        (name, *(f"{value:,.1f}".removesuffix(".0") for value in row.values()))
        for name, row in counts["per user"].items()
    ]
    return Group(title, totals, Grid("", ("per user", *QUARTILES), rows))


def comparison(summary: dict[str, Any]) -> Grid:
    """Real people and synthetic ones, a row a statistic."""
    rows = [
        (
            row["statistic"],
            *(["-"] * 3 if not row["real"] else map(_figure, row["real"])),
            *map(_figure, row["prior"]),
            f"{row['inside']:.0f} %" if row["real"] else "-",
        )
        for row in summary["statistics"]
    ]
    return Grid(
        f"{summary['real people']:,} people of the logs, {summary['synthetic people']:,} of the prior",
        ("statistic", "min", "median", "max", "5 %", "median", "95 %", "inside"),
        rows,
        caption="min, median, max: real people; 5 %, median, 95 %: the prior; inside: real people within its 1 to "
        f"99 %. All statistics at once: {summary['typical']:.0f} % of the real are no lonelier among the synthetic "
        "people than 99 % of those are.",
    )


def _figure(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 1000 else 1}f}"


def proof(figures: Any) -> Grid:
    """What adapting gave on the held-back tail (`train.adapt.Proof`)."""
    rows = [
        ("log loss", f"{figures.loss_before:.4f}", f"{figures.loss_after:.4f} ± {figures.error:.4f}"),
        ("HR@1", f"{figures.hits_before:.2f}", f"{figures.hits_after:.2f}"),
    ]
    return Grid(f"held-back tail, {figures.positions:,} predictions", ("", "before", "after"), rows)
