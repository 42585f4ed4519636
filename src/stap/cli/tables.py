"""How figures look as tables. Numbers in, renderables out, nothing computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stap.cli import charts
from stap.describe.counts import QUARTILES
from stap.metrics import CUTOFFS, NAMES
from stap.tally import NOT_APPLICABLE, OUTSIDE
from stap.terminal import Grid, harmless

HITS = tuple(f"HR@{k}" for k in CUTOFFS)
PARTS = {"pause": "after a pause", "at_once": "at once", "home": "home", "resumed": "resumed"}


def evaluation(result: dict[str, Any]) -> Grid:
    """The table of predictors."""
    entries = result["predictors"]
    if result["protocol"] == "launch":
        return _launches(entries)
    rows = _scores({name: entry["pooled"] for name, entry in entries.items()})
    for row, entry in zip(rows, entries.values(), strict=True):
        span = entry["interval"].get("HR@1")
        row.append("{:.1f}-{:.1f}".format(*span) if span else "-")
        row.append(f"{entry['open']['HR@1']:.2f}" if entry["open"]["n"] else "-")
        if NOT_APPLICABLE in entry:
            row[1:] = [NOT_APPLICABLE] * (len(row) - 1)
    count = max(entry["pooled"]["n"] for entry in entries.values())
    return Grid(
        f"{result['protocol']} protocol, {count:,} predictions, percent",
        ("predictor", *NAMES, "95 %", "open"),
        rows,
        caption="95 %: interval of HR@1 over users; open: HR@1 just after an open",
    )


def outside(result: dict[str, Any]) -> list[str]:
    """Of everybody with a fixed vocabulary: how much of the log it cannot answer, or why it says nothing."""
    lines = []
    for name, entry in result["predictors"].items():
        if NOT_APPLICABLE in entry:
            lines.append(f"note: {name}: n/a: {entry[NOT_APPLICABLE]}; train it on this log's own people")
        elif OUTSIDE in entry:
            share = 100 * entry[OUTSIDE] / entry["pooled"]["n"]
            lines.append(f"note: {name}: {entry[OUTSIDE]:,} answers ({share:.2f} %) outside its vocabulary: misses")
    return lines


def _launches(entries: dict[str, Any]) -> Grid:
    """What a launcher would have been right in, and what was asked of it."""
    one = max(entries.values(), key=lambda entry: entry["pooled"]["n"])
    parts = {part: title for part, title in PARTS.items() if one[part] is not None}
    rows = _scores({name: entry["pooled"] for name, entry in entries.items()}, HITS)
    for part in parts:
        cells = _scores({name: entry[part] for name, entry in entries.items()}, HITS[:1])
        for row, (_, cell) in zip(rows, cells, strict=True):
            row.append(cell)
    return Grid(
        f"launch protocol, {one['pooled']['n']:,} launches, percent",
        ("predictor", *HITS, *parts.values()),
        rows,
        caption=_what_was_asked(one),
    )


def _what_was_asked(entry: dict[str, Any]) -> str:
    """In words, with the numbers that weigh it."""
    home = "This log cannot tell which launches came from a home screen."
    if entry["home"] is not None:
        home = (
            f"home: of the {entry['home']['n']:,} from a home screen; resumed: of the {entry['resumed']['n']:,} where "
            "the app used last came back without one."
        )
    return (
        "Asked when each app was opened: which one is it? HR@k: how often it was among the first k. After a pause: "
        f"HR@1 of the {entry['pause']['n']:,} launches more than a minute after the last close; at once: of the "
        f"{entry['at_once']['n']:,} others. {home}"
    )


def _scores(rows: dict[str, dict[str, float]], metrics: Sequence[str] = NAMES) -> list[list[str | Text]]:
    """A row a predictor, a cell a metric, the best of each metric in bold; a dash where nothing was scored."""
    best = {metric: max(row.get(metric, 0.0) for row in rows.values()) for metric in metrics}

    def cell(row: dict[str, float], metric: str) -> Text:
        return Text(f"{row[metric]:.2f}", "bold" if row[metric] == best[metric] else "") if row["n"] else Text("-")

    return [[name, *(cell(row, metric) for metric in metrics)] for name, row in rows.items()]


def by_user(result: dict[str, Any], metric: str = "HR@1") -> Grid:
    """One metric, a row a user, a column a predictor."""
    entries = result["predictors"]
    users: dict[str, Any] = max((entry["users"] for entry in entries.values()), key=len)
    rows = [
        (user, *(_of(entry["users"].get(user), metric) for entry in entries.values()), f"{row['n']:,}")
        for user, row in users.items()
    ]
    return Grid(f"{metric} by user", ("user", *entries, "n"), rows)


def _of(row: dict[str, float] | None, metric: str) -> str:
    return f"{row[metric]:.2f}" if row else "-"


SCOPES = {
    "pooled": "all launches",
    "pause": "after a pause",
    "at_once": "at once",
    "home": "from a home screen",
    "resumed": "the app used last, without a home screen",
    "foreseen": "all launches, asked at the close before",
}


def people(title: str, figures: dict[str, Any]) -> RenderableType:
    """One group of `stap study people`: everything and the cold start, then the worst user and the calibration."""
    scopes = [scope for scope in figures if scope == "pooled" or scope.startswith("first ")]
    grids = [_beside(f"{title}, {scope}: {figures['users']} users", figures[scope]) for scope in scopes]
    return Group(*grids, *_fairness(figures, "usages"))


def _fairness(figures: dict[str, Any], unit: str) -> list[Text]:
    """The worst user, and how far the probabilities can be believed."""
    worst, lines = figures["worst user"], []
    if worst is not None:
        lines.append(
            f"worst user, HR@1: {worst['user']}, {worst['margin']:+.2f} points beside {worst['best classical']} "
            f"({worst['n']:,} {unit})"
        )
    lines += [
        f"calibration of stap, {what}: expected error {row['error']:.2f}, foretold {row['foretold']:.2f}, "
        f"came {row['came']:.2f}"
        for what, row in figures["calibration"].items()
    ]
    return [Text(harmless(line)) for line in lines]


def launches(title: str, figures: dict[str, Any]) -> RenderableType:
    """One group of `stap study launch`: a table for each kind of launch, "again" by the pause, who is worst off."""
    told = [scope for scope in SCOPES if figures[scope] is not None]
    untold = [] if len(told) == len(SCOPES) else [Text("home, resumed: these logs cannot tell\n")]
    grids = [_ahead(f"{title}, {figures['users']} users, {SCOPES[scope]}", figures[scope]) for scope in told]
    return Group(*grids, *untold, _again(figures["again"]), "", *_fairness(figures, "launches"))


def _ahead(title: str, table: dict[str, Any]) -> Grid:
    """Predictors, and how far STAP is ahead of the best of all others."""
    lead, count = table["lead"], table["predictors"]["stap"]["n"]
    rows = _scores(table["predictors"])
    others = {metric: row["best"] for metric, row in lead.items() if row["best"]}
    if others:
        rows += _lead("stap over the best", {metric: row["points"] for metric, row in lead.items()}, table["paired"])
    best = "; ".join(f"{metric} {name}" for metric, name in others.items())
    return Grid(
        f"{title}: {count:,} launches, percent",
        ("predictor", *NAMES),
        rows,
        caption=f"best of the others: {best}{_explained(table['paired'])}\n" if others else "\n",
    )


def _lead(label: str, points: dict[str, float], paired: dict[str, Any]) -> list[list[str | Text]]:
    """By how many points STAP is ahead, and below it the interval, where there is more than one user."""
    level = {metric for metric, found in paired.items() if not found.told_apart}
    rows: list[list[str | Text]] = [[label, *("= " * (metric in level) + f"{points[metric]:+.2f}" for metric in NAMES)]]
    if paired:
        rows.append(["between", *(f"[{paired[name].low:+.2f}, {paired[name].high:+.2f}]" for name in NAMES)])
    return rows


def _explained(paired: dict[str, Any]) -> str:
    return "; between: 95 % by paired bootstrap over users; =: the test calls no winner" if paired else ""


def _again(curve: dict[str, Any]) -> Grid:
    """How often the app used last came again, and how likely it was held, by minutes of pause."""
    met = {length: row for length, row in curve.items() if row["n"]}
    watched = [who for who in next(iter(met.values())) if who != "n"]
    rows = [(length, *(f"{row[who]:.1f}" for who in watched), f"{row['n']:,}") for length, row in met.items()]
    return Grid("the app used last again, by minutes of pause, percent", ("pause", *watched, "launches"), rows)


def anew(title: str, figures: dict[str, Any]) -> Grid:
    """The same people without a past, again and again."""
    return _beside(f"{title}: {figures['stretches']} stretches", figures["pooled"])


def _beside(title: str, figures: dict[str, Any]) -> Grid:
    """Predictors, how far STAP is ahead of the others, and what nobody could have known."""
    rows, margins, paired = figures["predictors"], figures["margins"], figures.get("paired", {})
    ahead = [
        row
        for over, label in (("over classical", "stap over the best classical"), ("over gbdt", "stap over gbdt"))
        if over in margins["HR@1"]
        for row in _lead(label, {metric: each[over] for metric, each in margins.items()}, paired.get(over, {}))
    ]
    return Grid(
        f"{title}, {rows['stap']['n']:,} predictions, stream protocol, percent",
        ("predictor", *NAMES),
        [*_scores(rows), *ahead],
        caption="; ".join(f"{label}: {value:.2f}" for label, value in figures["oracle"].items())
        + _explained(paired.get("over classical", {}))
        + "\n",
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
