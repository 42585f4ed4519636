"""What several commands take, each declared once; and logs read the way these options say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Group, RenderableType

from stap import fleet, registry, sources, terminal, usage
from stap.errors import extra
from stap.events import Corpus, from_table, merged
from stap.files import replacing
from stap.fleet import Shard
from stap.notices import Notice, notices
from stap.predictors import CLASSICAL
from stap.terminal import Grid
from stap.verdict import provenance

MOST_NOTES = 20  # about one log

Logs = Annotated[list[str], typer.Argument(metavar="LOG", help="Any log that `import` reads; - is standard input.")]
Data = Annotated[list[str], typer.Option("--data", metavar="LOG", help="A log to train on; may be repeated.")]
NoNotifications = Annotated[
    bool, typer.Option("--no-notifications", help="Leave them out where a log has some (launch).")
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures here as JSON.")]
Names = Annotated[
    str | None,
    typer.Option(
        "--predictors",
        help=f"Comma-separated, from {', '.join(registry.NAMES)}; and your own as MODULE:CLASS, which is imported.",
    ),
]
Name = Annotated[
    str, typer.Option("--predictor", help=f"One of {', '.join((*CLASSICAL, 'stap'))}; or your own as MODULE:CLASS.")
]
Ranker = Annotated[Path | None, typer.Option("--ranker", metavar="FILE", help="The trees that `gbdt` predicts with.")]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="FILE|RUN|pure",
        help="What `stap` predicts with instead of its own: a model, a run's folder; or pure, which ships too and has "
        "no statistics: the paper's idea alone.",
    ),
]
Jobs = Annotated[int, typer.Option(min=1, max=10_000, help="At the same time, each a process of this machine.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="On a Ray cluster instead: auto, HOST:PORT or ray://HOST:PORT; needs `pip install 'stap[cluster]'`.",
    ),
]
Fold = Annotated[str | None, typer.Option("--fold", metavar="K/N", help="Hold out the K-th of N parts of the users.")]
Always = Annotated[
    list[str] | None,
    typer.Option("--always", metavar="USER", help="Who trains in every fold; may be repeated, or comma-separated."),
]
View = Annotated[
    list[str] | None,
    typer.Option("--view", metavar="LOG", help="The same users as another logger saw them (`import --in-front`)."),
]


@dataclass(frozen=True)
class Reader:
    """Reads logs as the command line says, and tells the person what they should know about them."""

    options: sources.Options
    users: list[str]

    def __call__(self, logs: Sequence[str], **how: Any) -> sources.Imported:
        """`how`: further options of `sources.Options`, of this command alone."""
        with terminal.progress("reading"):
            read = sources.read(logs, replace(self.options, **how))
        if self.users:
            table = usage.only_users(read.table, self.users, ", ".join(logs))
            theirs = pl.col("user").is_in(table["user"].unique().implode())
            read = replace(read, table=table, notifications=read.notifications.filter(theirs))
        say_heard(read.notes, read.skipped)
        return read

    def people(self, logs: Sequence[str]) -> Corpus:
        """Merged usages: the paper's rule."""
        return merged(self(logs, merge_gap=None).table)

    def launches(self, logs: Sequence[str]) -> Corpus:
        return self.with_notices(logs)[0]

    def shards(self, logs: Sequence[str], launches: bool) -> Sequence[Shard]:
        """People some at a time: those of a usage table from its file when it is their turn, others all at once."""
        if len(logs) == 1 and not self.users:
            with terminal.progress("looking"):
                found = fleet.filed(logs[0], self.options, launches)
            if found:
                return found
        people, posted = self.with_notices(logs) if launches else (self.people(logs), {})
        return list(fleet.here(people, posted))

    def with_notices(self, logs: Sequence[str], **how: Any) -> tuple[Corpus, dict[str, list[Notice]]]:
        """Launches, and each user's notifications."""
        made = self(logs, **how)
        return from_table(made.table), notices(made.notifications)


def say_heard(notes: Sequence[str], skipped: int) -> None:
    """What a person should know about a log; many shards may have as much to say."""
    more = f"{len(notes) - MOST_NOTES:,} more notes like these" if len(notes) > MOST_NOTES else ""
    rows = f"skipped {skipped:,} bad {'row' if skipped == 1 else 'rows'}" if skipped else ""
    for note in (*notes[:MOST_NOTES], more, rows):
        if note:
            terminal.note(f"note: {note}")


def _reader(
    format: Annotated[str | None, typer.Option(help=f"Do not guess: {', '.join(sources.FORMATS)}.")] = None,
    zone: Annotated[str | None, typer.Option(help="Time zone of a log kept in UTC, e.g. Europe/Berlin.")] = None,
    skip_bad_rows: Annotated[bool, typer.Option("--skip-bad-rows", help="Leave bad rows out and count them.")] = False,
    keep_system: Annotated[bool, typer.Option("--keep-system", help="Keep launchers and system UI.")] = False,
    users: Annotated[
        list[str] | None,
        typer.Option("--users", "--user", metavar="USER", help="Only these; may be repeated, or comma-separated."),
    ] = None,
) -> Reader:
    return Reader(sources.Options(format, zone, skip_bad_rows, keep_system), users or [])


def shares(name: str, make: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For commands that ask for `name`: they take the options of `make`, and get what it makes of them."""

    def shared(command: Callable[..., None]) -> Callable[..., None]:
        own, others = (dict(signature(function, eval_str=True).parameters) for function in (command, make))
        del own[name]

        @wraps(command)
        def run(**given: Any) -> None:
            command(**{name: make(**{each: given.pop(each) for each in others})}, **given)

        options = sorted((*own.values(), *others.values()), key=lambda option: option.default is not option.empty)
        run.__signature__ = Signature(options)  # type: ignore[attr-defined] # (what has to be given comes first)
        return run

    return shared


reads_logs = shares("read", _reader)


def load(module: str) -> Any:
    """One of our modules that needs torch or LightGBM, which takes seconds to import."""
    with terminal.progress("loading"):
        return extra(module)


QUESTIONS = {  # of the studies that are no `Experiment`, as `stap report` heads them
    "people": "How good is the model on people it never saw?",
    "launch": "How good is it when somebody looks at the screen, beside launchers' rules?",
    "loggers": "Does the model still beat the classics where a logger says less?",
    "numbers": "What do smaller numbers and other strategies cost in accuracy?",
    "many-apps": "What do more apps than virtual indices cost?",
}


def write_json(figures: dict[str, Any], path: Path | None, study: str = "", *shown: RenderableType) -> None:
    """What was printed, for programs; nothing where nobody asked. With a `study` it is a file for `stap report`."""
    if path is not None:
        if study:
            printed = [grid.data() for grid in _grids(shown)]
            asked = {"question": QUESTIONS[study]} if study in QUESTIONS else {}
            figures = {"provenance": {"study": study, **asked, **provenance()}, **figures} | (
                {"tables": printed} if printed else {}
            )
        with replacing(path) as draft:
            draft.write_text(json.dumps(figures, indent=1) + "\n")
        terminal.note(f"wrote {path}")


def _grids(shown: Iterable[RenderableType]) -> Iterator[Grid]:
    """The tables among what was printed, also those in a group."""
    for each in shown:
        if isinstance(each, Grid):
            yield each
        elif isinstance(each, Group):
            yield from _grids(each.renderables)
