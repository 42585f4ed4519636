"""`stap import` and `stap describe`: what a log is, and what is in it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from stap import terminal, usage
from stap.cli import tables
from stap.cli.options import Json, Logs, Reader, reads_logs, write_json
from stap.describe import comparison, counts, person
from stap.describe.figure import EXPLAINED, draw_comparison
from stap.sources import parse_gap


@reads_logs
def import_(
    logs: Logs,
    read: Reader,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Usage table: .parquet or .csv.")],
    in_front: Annotated[
        bool, typer.Option("--in-front", help="Where records overlap, an app still open comes back to the front.")
    ] = False,
    merge_gap: Annotated[
        str,
        typer.Option(
            metavar="SECONDS|all",
            help="An app that is back sooner is the same launch; `all`: whenever, the paper's rule.",
        ),
    ] = f"{usage.GAP:g}",
    as_user: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="All of it is one person's, called NAME from now on.")
    ] = None,
    same_users: Annotated[
        bool, typer.Option("--same-users", help="A user's name means the same person in every log given.")
    ] = False,
) -> None:
    """Turn any supported log into a table of launches; what needs the paper's merged usages merges them by itself.

    Example: `adb shell dumpsys usagestats | stap import - -o my.parquet`
    """
    gap = parse_gap(merge_gap)
    made = read(logs, in_front=in_front, merge_gap=gap, as_user=as_user, same_users=same_users)
    usage.save(made.table, out, made.notifications)
    people, notices = made.table["user"].n_unique(), len(made.notifications)
    rows = f"{len(made.table):,} {'usages' if gap is None else 'launches'}"
    terminal.say(
        f"{made.format}: {made.records:,} records, {made.dropped:,} of launchers and system UI dropped, "
        f"{rows}{f' and {notices:,} notifications' if notices else ''} "
        f"of {people:,} {'user' if people == 1 else 'users'} -> {out}"
    )


@reads_logs
def describe(
    logs: Logs,
    read: Reader,
    figure: Annotated[Path, typer.Option("--figure", metavar="PNG", help="Where the figure goes.")] = Path(
        "distributions.png"
    ),
    prior: Annotated[
        int | None,
        typer.Option("--prior", metavar="N", min=20, help="Put N synthetic people beside all logs together."),
    ] = None,
    json: Json = None,
) -> None:
    """Count what is in each log and draw it: one person's apps, hours and last week, or how many people differ.

    With --prior the figure and a table show what sets people apart, for the logs' people and for synthetic ones.

    Example: `stap describe my.parquet --figure my.png`
    """
    corpora = {log: read.people([log]) for log in logs}
    figures: dict[str, Any] = {log: counts.counts(corpus) for log, corpus in corpora.items()}
    alone = [log for log, corpus in corpora.items() if len(corpus.users) == 1]
    figures |= {log: figures[log] | {"person": person.portrait(corpora[log])} for log in alone}
    for log, counted in figures.items():
        terminal.out.print(tables.description(log, counted), "")
    if prior is not None:
        people = comparison.pool(corpora)
        with terminal.progress("comparing", comparison.work(people, prior)) as tick:
            compared = comparison.compare(people, prior, tick)
        figures["prior"] = compared.summary()
        terminal.out.print(tables.comparison(figures["prior"]))
        draw, explained = partial(draw_comparison, compared), EXPLAINED
    elif len(alone) == len(corpora):
        draw, explained = partial(person.draw, corpora), None
    else:
        draw, explained = partial(counts.draw_distributions, corpora), counts.EXPLAINED
    with terminal.progress("drawing"):
        draw(figure)
    if explained:
        terminal.out.print(Text(explained, style="dim"))
    terminal.say(f"wrote {figure}")
    write_json(figures, json)
