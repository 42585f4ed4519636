"""`stap serve`: a predictor that runs beside a person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stap import terminal
from stap.cli.options import Model, load


def serve(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="Where everything is kept; ~/.local/share/stap.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0: any that is free.")] = 8765,
    model: Model = None,
    memory: Annotated[
        int, typer.Option(min=8, max=1 << 20, metavar="MB", help="For sessions; others wait on disk.")
    ] = 256,
) -> None:
    """Run a predictor beside you: events in, rankings out, and a page to look at. Nothing leaves this machine.

    Example: `stap serve`, then open the address that it prints
    """
    run, core = load("stap.serve.run"), load("stap.serve.core")
    settings = core.Settings(data or run.data_folder(), model, memory)
    run.serve(settings, port, (), lambda address: terminal.say(f"stap serves at {address}"))
