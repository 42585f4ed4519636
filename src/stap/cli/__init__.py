"""The command line: parses, calls, prints. Errors a person can cause end in one line and exit code 2, ours in 70."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from stap import __version__, terminal
from stap.cli import ask, experiments, logs, measure, reporting, serving, training, using
from stap.errors import BadInput

COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Logs": {"import": logs.import_, "describe": logs.describe},
    "Predictions": {"demo": ask.demo, "predict": ask.predict, "evaluate": ask.evaluate_},
    "Live": {"serve": serving.serve, "top": using.top, "watch": using.watch},
    "Training": {"train": training.train, "rival": training.rival, "adapt": training.adapt, "export": training.export},
    "Measuring": {"bench": measure.bench, "report": reporting.report},
}

UNEXPECTED = 70  # exit code of what should never happen, as sysexits.h has it
TRACE = "STAP_TRACE"  # in the environment: errors end with Python's whole trace

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Rank the apps a person will open next, without knowing what any app is. Start with: stap demo",
)
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(experiments.study, name="study", rich_help_panel="Measuring")


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        terminal.say(f"stap {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point: one clear line for what a person can mend, and one for what only we can."""
    terminal.prepare()
    try:
        app()
    except SystemExit as done:
        sys.exit(_flushed(done.code))
    except BaseException as error:
        if os.environ.get(TRACE):
            raise
        sys.exit(_flushed(_explained(error)))


def _explained(error: BaseException) -> int:
    """Says what went wrong, in one line; gives the exit code."""
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, BadInput):
        terminal.note(f"stap: {error}")
        return 2
    if isinstance(error, OSError):
        terminal.note(f"stap: {error.filename or 'output'}: {error.strerror or error}; check the place and its disk")
        return 2
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    named = " ".join(["stap", *(word for word in sys.argv[1:2] if word.isalpha())])
    terminal.note(f"{named}: unexpected {what}; please report it with this line; {TRACE}=1 shows the whole trace")
    return UNEXPECTED


def _flushed(code: Any) -> Any:
    """What was printed is out, or the exit code says that it is not: `stap ... | head`, a full disk."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 1
        return code or _explained(error)
    return code
