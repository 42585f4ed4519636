"""How rankings, hours and weeks look: bars and shades for any terminal. Numbers in, renderables out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import accumulate
from typing import Any

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stap.demo.replay import Frame
from stap.describe.person import IN_TERMINAL, PARTS, day
from stap.events import Ranking
from stap.terminal import harmless, out

EIGHTHS, SHADES = " ▁▂▃▄▅▆▇█", " ░▒▓█"
TALL = 4  # lines of the hours
LABEL = 11  # what stands before a day
LONGEST = 24  # of a bar


def bars(rows: Iterable[tuple[str, Text, str, float]]) -> Table:
    """Places, names, values, and shares of 1 as bars; names fold rather than be cut."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(max_width=LONGEST)
    for place, name, value, share in rows:
        table.add_row(place, name, value, Bar(1.0, 0.0, share, color="cyan"))
    return table


def ranking(ranked: Ranking, came: str | None = None, unseen: float | None = None) -> Table:
    """Apps with their probabilities as bars; the one that came is marked. unseen: the share of a first-ever app."""
    rows = [
        (f"{place}.", Text(harmless(app), style="bold green" if app == came else ""), probability)
        for place, (app, probability) in enumerate(ranked, 1)
    ]
    if unseen is not None:
        rows.append(("", Text("an app never seen before", style="dim"), unseen))
    return bars((place, name, f"{100 * probability:.1f} %", probability) for place, name, probability in rows)


def explained(ranked: Ranking, said: Sequence[str], unseen: float | None = None) -> RenderableType:
    """Apps with their probabilities, and under each what speaks for it."""
    lines: list[RenderableType] = []
    for place, ((app, probability), sentence) in enumerate(zip(ranked, said, strict=True), 1):
        lines.append(Text(f"{place}. {harmless(app)}, {100 * probability:.1f} %", style="bold"))
        lines.append(Padding(Text(harmless(sentence)), (0, 0, 0, 3), expand=False))
    if unseen is not None:
        lines.append(Text(f"an app never seen before, {100 * unseen:.1f} %", style="dim"))
    return Group(*lines)


def person(shown: dict[str, Any]) -> RenderableType:
    """Top apps, hours of the day and the last week of one person (`describe.person.portrait`)."""
    top = shown["top apps"]
    most = top[0]["usages"]
    apps = bars(
        (f"{place}.", Text(harmless(app["app"])), f"{app['usages']:,}", app["usages"] / most)
        for place, app in enumerate(top, 1)
    )
    return Group(
        Text("\ntop apps, by usages", style="bold"),
        apps,
        Text("\nhours of the day", style="bold"),
        *_hours(shown["usages by hour"]),
        Text("\nthe last week", style="bold"),
        *_week(shown["last week"]),
        Text("\n" + IN_TERMINAL, style="dim"),
    )


def _hours(usages: Sequence[int]) -> list[Text]:
    """A column an hour, some lines tall."""
    most = max(usages)
    eighths = [round(8 * TALL * count / most) for count in usages]
    lines = [
        "".join(2 * EIGHTHS[min(8, max(0, height - 8 * line))] for height in eighths) for line in reversed(range(TALL))
    ]
    return [*(Text(" " * LABEL + line, style="cyan") for line in lines), _axis()]


def _week(days: dict[str, list[int]]) -> list[Text]:
    """A row a day, a mark half an hour; the busiest half hour is full."""
    most = max(map(max, days.values()))
    rows = []
    for name, parts in days.items():
        marks = "".join(SHADES[-(-4 * count // most)] for count in parts)
        rows.append(Text.assemble(f"{day(date.fromisoformat(name)):<{LABEL}}", (marks, "cyan")))
    return [*rows, _axis()]


def _axis() -> Text:
    return Text(" " * LABEL + "".join(f"{hour:<{PARTS // 8}}" for hour in range(0, 24, 3)), style="dim")


def frame(now: Frame, hits: int, seen: int) -> Panel:
    """One frame of the demo."""
    verdict, style = (f"number {now.place}", "green") if now.place else ("not listed", "red")
    body = Group(
        Text(f"closed {harmless(now.closed)} {_ago(now.pause)}; now?"),
        ranking(now.ranking, now.came),
        Text(f"came: {harmless(now.came)}, {verdict}", style=style),
    )
    return Panel(body, title=f"{now.time:%a %d %b, %H:%M}", subtitle=f"top 5 right in {hits} of {seen}", width=64)


def _ago(minutes: float) -> str:
    if minutes < 1:
        return "a moment ago"
    return f"{minutes:.0f} min ago" if minutes < 100 else f"{minutes / 60:.0f} h ago"


def replay(played: list[Frame], seconds: float) -> None:
    """The demo's film on a terminal; elsewhere its last frame."""
    hits = list(accumulate(now.place is not None for now in played))
    panels = [frame(now, hit, seen) for seen, (now, hit) in enumerate(zip(played, hits, strict=True), 1)]
    if out.is_terminal:
        with Live(console=out, auto_refresh=False, transient=True) as live:
            for panel in panels:
                live.update(panel, refresh=True)
                time.sleep(seconds / len(panels))
    out.print(panels[-1])
