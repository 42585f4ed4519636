"""The command line: parses, calls, prints. Errors a person can cause end in one line and exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from stap import __version__, terminal
from stap.cli import ask, logs, measure, training
from stap.errors import BadInput

COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Logs": {"import": logs.import_, "describe": logs.describe},
    "Predictions": {"demo": ask.demo, "predict": ask.predict, "evaluate": ask.evaluate_},
    "Training": {"train": training.train, "rival": training.rival, "adapt": training.adapt, "export": training.export},
    "Measuring": {"bench": measure.bench},
}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Rank the apps a person will open next, without knowing what any app is. Start with: stap demo",
)
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(measure.study, name="study", rich_help_panel="Measuring")


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        terminal.say(f"stap {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point: one clear line for what a person can mend, nothing else."""
    try:
        app()
    except BadInput as error:
        terminal.note(f"stap: {error}")
        sys.exit(2)
    except BrokenPipeError:  # `stap ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
