"""The command line: parses, calls, prints. Errors a person can cause end in one line and exit code 2, ours in 70."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, TextIO

import typer

from stap import __version__, terminal
from stap.errors import BadInput

COMMANDS = {  # by panel and name: where the function is. A module is imported when its command is asked for.
    "Logs": {"import": "logs:import_", "describe": "logs:describe"},
    "Predictions": {"demo": "ask:demo", "predict": "ask:predict", "evaluate": "ask:evaluate_"},
    "Live": {"serve": "serving:serve", "top": "using:top", "watch": "using:watch"},
    "Training": {
        "train": "training:train",
        "rival": "training:rival",
        "adapt": "training:adapt",
        "export": "training:export",
    },
    "Measuring": {"bench": "measure:bench", "report": "reporting:report", "study": "experiments:study"},
}

UNEXPECTED = 70  # exit code of what should never happen, as sysexits.h has it
TRACE = "STAP_TRACE"  # in the environment: errors end with Python's whole trace


def command_line(asked: str | None = None) -> typer.Typer:
    """All commands; or only the one that is asked for, since a launcher does not wait for what it does not need."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        help="Rank the apps a person will open next, without knowing what any app is. Start with: stap demo",
    )
    app.callback(invoke_without_command=True)(_top)
    known = any(asked in commands for commands in COMMANDS.values())
    for panel, commands in COMMANDS.items():
        for name, place in commands.items():
            if name == asked or not known:
                _add(app, panel, name, *place.split(":"))
    return app


def _add(app: typer.Typer, panel: str, name: str, module: str, function: str) -> None:
    found = getattr(import_module(f"stap.cli.{module}"), function)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name, rich_help_panel=panel)
    else:
        app.command(name, rich_help_panel=panel)(found)


def __getattr__(name: str) -> Any:
    """`app`: the whole of it, made once."""
    if name != "app":
        raise AttributeError(f"module 'stap.cli.commands' has no attribute {name!r}")
    globals()["app"] = app = command_line()
    return app


def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        terminal.say(f"stap {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point: one clear line for what a person can mend, and one for what only we can."""
    terminal.prepare()
    try:
        command_line(next(iter(sys.argv[1:]), None))()
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
    if (error := _lost(sys.stdout)) is not None:
        code = 1 if isinstance(error, BrokenPipeError) else code or _explained(error)
    _lost(sys.stderr)  # nobody hears what does not fit there, and Python shall not end with a code of its own for it
    return code


def _lost(stream: TextIO | None) -> OSError | None:
    """Why what was written to a stream is not out; then it goes nowhere."""
    if stream is None:
        return None
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
