"""`stap top` and `stap watch`: a running server's predictions for launchers and scripts."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from stap import terminal
from stap.serve import top as topping
from stap.serve import watch as watching
from stap.serve.client import Client

Data = Annotated[
    Path | None, typer.Option("--data", metavar="FOLDER", help="Where everything is kept; ~/.local/share/stap.")
]
User = Annotated[str, typer.Option("--user", metavar="NAME", help="Whose predictions.")]


def top(
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many apps.")] = 10,
    listed: Annotated[
        str | None,
        typer.Option("--list", metavar="FILE", help="Names, one a line, - for standard input: likely ones go first."),
    ] = None,
    user: User = "me",
    data: Data = None,
) -> None:
    """Print the likeliest apps of a running `stap serve`, one a line, for rofi, dmenu or any other menu.

    With `--list` all its lines come out, those of likely apps first; also when no server runs.

    Example: `stap top | rofi -dmenu`, `dmenu_path | stap top --list - | dmenu`
    """
    for line in topping.lines(k, listed, user, data, terminal.note):
        terminal.say(line)


def watch(
    exec_: Annotated[
        str,
        typer.Option("--exec", metavar="CMD", help="What to run; {} or a last argument is the app, as is $STAP_APP."),
    ],
    threshold: Annotated[float, typer.Option(min=0, max=1, help="Only for an app at least so likely.")] = 0.5,
    every: Annotated[float, typer.Option(min=0, max=86400, metavar="SECONDS", help="Never more often.")] = 30.0,
    user: User = "me",
    data: Data = None,
) -> None:
    """Run a command whenever another app is the likeliest, to preload it or to warm a cache.

    No shell takes part: the app's name is one argument, whatever is in it. $STAP_PROBABILITY and $STAP_USER are set.

    Example: `stap watch --exec 'notify-send {}' --threshold 0.6 --every 60`
    """
    command = watching.command_of(exec_)
    judge = watching.Judge(threshold, every)
    watching.watch(Client(user, data=data), user, command, judge, Event())
