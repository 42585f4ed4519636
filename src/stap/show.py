"""How results look in a terminal. Renderables in, nothing computed."""

from __future__ import annotations

import time
from itertools import accumulate
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stap.demo.replay import Moment
from stap.events import Ranking
from stap.metrics import NAMES
from stap.terminal import out


def evaluation(result: dict[str, Any]) -> Table:
    """The table of predictors: the best of each metric in bold."""
    entries = result["predictors"]
    pooled = {name: entry["pooled"] for name, entry in entries.items()}
    table = Table(
        title=f"{result['protocol']} protocol, percent", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.caption = "95 %: interval of HR@1 over users; open: HR@1 just after an open"
    for column in ("predictor", *NAMES, "95 %", "open", "n"):
        table.add_column(column, justify="left" if column == "predictor" else "right", no_wrap=True)
    best = {metric: max(row[metric] for row in pooled.values()) for metric in NAMES}
    for name, row in pooled.items():
        cells = [Text(f"{row[m]:.2f}", style="bold" if row[m] == best[m] else "") for m in NAMES]
        span = entries[name]["interval"].get("HR@1")
        interval = "{:.1f}-{:.1f}".format(*span) if span else "-"
        table.add_row(name, *cells, interval, f"{entries[name]['open']['HR@1']:.2f}", f"{row['n']:,}")
    return table


def per_user(result: dict[str, Any], metric: str = "HR@1") -> Table:
    """One metric, a row a user, a column a predictor."""
    entries = result["predictors"]
    table = Table(title=f"{metric} by user", title_justify="left")
    table.add_column("user")
    for name in entries:
        table.add_column(name, justify="right")
    table.add_column("n", justify="right")
    users: dict[str, Any] = next(iter(entries.values()))["users"]
    for user, row in users.items():
        table.add_row(user, *(f"{entries[name]['users'][user][metric]:.2f}" for name in entries), f"{row['n']:,}")
    return table


def description(counts: dict[str, Any]) -> RenderableType:
    """Totals, then quartiles per user."""
    totals = Table.grid(padding=(0, 3))
    for name, value in counts.items():
        if name != "per user":
            totals.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    spread = Table()
    spread.add_column("per user")
    for column in ("min", "25%", "median", "75%", "max"):
        spread.add_column(column, justify="right")
    for name, row in counts["per user"].items():
        spread.add_row(name, *(f"{value:,.1f}".removesuffix(".0") for value in row.values()))
    return Group(totals, spread)


def comparison(summary: dict[str, Any]) -> RenderableType:
    """Real people and synthetic ones, a row a statistic."""
    title = f"{summary['real people']:,} people of the logs, {summary['synthetic people']:,} of the prior"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("statistic", no_wrap=True)
    for column in ("min", "median", "max", "5 %", "median", "95 %", "inside"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in summary["statistics"]:
        figures = (f"{value:,.{0 if abs(value) >= 1000 else 1}f}" for value in (*row["real"], *row["prior"]))
        table.add_row(row["statistic"], *figures, f"{row['inside']:.0f} %")
    note = (
        "min, median, max: real people; 5 %, median, 95 %: the prior; inside: real people within its 1 to 99 %. "
        "All statistics at once: "
        f"{summary['typical']:.0f} % of the real are no lonelier among the synthetic people than 99 % of those are."
    )
    return Group(table, Text(note))


def ranking(ranked: Ranking, came: str | None = None, unseen: float | None = None) -> Table:
    """Apps with their probabilities as bars; the one that came is marked. unseen: the share of a first-ever app."""
    table = Table.grid(padding=(0, 1))
    for place, (app, probability) in enumerate(ranked, 1):
        style = "bold green" if app == came else ""
        bar = "█" * round(30 * probability)
        table.add_row(f"{place}.", Text(app, style=style), f"{100 * probability:5.1f} %", Text(bar, style="cyan"))
    if unseen is not None:
        table.add_row("", Text("an app never seen before", style="dim"), f"{100 * unseen:5.1f} %")
    return table


def moment(now: Moment, hits: int, seen: int) -> Panel:
    """One frame of the demo."""
    verdict = (
        f"[green]came: {now.came}, number {now.place}[/]" if now.place else f"[red]came: {now.came}, not listed[/]"
    )
    body = Group(Text(f"closed {now.closed}; next?"), ranking(now.ranking, now.came), Text.from_markup(verdict))
    return Panel(body, title=f"{now.time:%a %d %b, %H:%M}", subtitle=f"top 5 right in {hits} of {seen}", width=64)


def replay(played: list[Moment], seconds: float) -> None:
    """The demo's film on a terminal; elsewhere its last frame."""
    hits = list(accumulate(now.place is not None for now in played))
    frames = [moment(now, hit, seen) for seen, (now, hit) in enumerate(zip(played, hits, strict=True), 1)]
    if out.is_terminal:
        with Live(console=out, auto_refresh=False, transient=True) as live:
            for frame in frames:
                live.update(frame, refresh=True)
                time.sleep(seconds / len(frames))
    out.print(frames[-1])


def proof(found: Any) -> None:
    """What adapting gave on the held-back tail (`train.adapt.Proof`)."""
    table = Table(title=f"held-back tail, {found.positions:,} predictions", title_justify="left")
    for column in ("", "before", "after"):
        table.add_column(column, justify="right" if column else "left")
    table.add_row("log loss", f"{found.loss_before:.4f}", f"{found.loss_after:.4f} ± {found.error:.4f}")
    table.add_row("HR@1", f"{found.hits_before:.2f}", f"{found.hits_after:.2f}")
    out.print(table)
