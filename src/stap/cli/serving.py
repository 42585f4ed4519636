"""`stap serve`: a predictor that runs beside a person."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from stap import terminal
from stap.cli.options import Model, load
from stap.cli.using import Data
from stap.demo.person import LOG as DEMO_LOG
from stap.errors import BadInput
from stap.serve import places, unit

LIVE, DEMO_SPEED = timedelta(days=5), 900.0  # of the demo person, whose earlier weeks are there at once


def serve(
    data: Data = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0: any that is free.")] = places.PORT,
    model: Model = None,
    memory: Annotated[
        int, typer.Option(min=8, max=1 << 20, metavar="MB", help="For sessions; others wait on disk.")
    ] = 256,
    feed: Annotated[
        list[str] | None,
        typer.Option(
            "--feed",
            metavar="FEED",
            help="Where events come from by themselves: aw (ActivityWatch; aw:URL), adb (a phone; adb:SERIAL), "
            "folder:PATH (exports that are put there), stdin (JSON lines), replay:LOG; may be repeated.",
        ),
    ] = None,
    user: Annotated[str, typer.Option("--as", metavar="NAME", help="Whose the feeds are.")] = "me",
    zone: Annotated[
        str | None, typer.Option(help="Time zone of what the feeds tell, e.g. Europe/Berlin; else this machine's.")
    ] = None,
    speed: Annotated[float, typer.Option(help="Of replay:LOG; 3600 is an hour a second.")] = 3600.0,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="An invented person, replayed; nothing is kept, unless --data says where."),
    ] = False,
    adapt: Annotated[
        bool | None,
        typer.Option(
            help="Adapt the model to each person at idle times, and keep it where it proves better. Without a word: "
            "if `stap[train]` is installed."
        ),
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Write a systemd user unit that runs this command, and end.")
    ] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Remove that unit, and end.")] = False,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Of a damaged store keep what can be read, and end.")
    ] = False,
) -> None:
    """Run a predictor beside you: events in, rankings out, and a page to look at. Nothing leaves this machine.

    Example: `stap serve --feed aw`, then open the address that it prints; `stap serve --demo` to see it at work
    """
    if uninstall:
        terminal.say(f"removed {unit.uninstall()}; `systemctl --user disable --now {unit.NAME}` stops what runs")
        return
    if salvage:
        saved, damaged = load("stap.serve.salvage").salvage((data or places.data_folder()).absolute())
        terminal.say(f"{saved:,} events are kept; the damaged file is {damaged}")
        return
    if install and demo and data is None:
        raise BadInput("--install --demo", "the demo person keeps nothing", "say where with --data, or install without")
    if install and "stdin" in (feed or ()):
        raise BadInput("--install --feed stdin", "a unit has no standard input", "leave that feed out")
    with ExitStack() as after:
        if demo and data is None:
            data = Path(after.enter_context(TemporaryDirectory(prefix="stap-demo-", ignore_cleanup_errors=True)))
        folder = (data or places.data_folder()).absolute()
        making: Any = load("stap.serve.feeds.making")
        feeds = [making.make(each, folder, user, zone, speed) for each in feed or ()]
        adapts = load("stap.serve.adapting").wanted(adapt)
        if install:
            options = _options(data, port, model, memory, feed or [], user, zone, speed) + _switches(demo, adapt)
            terminal.say(f"wrote {unit.install(options, folder, feed or ())}; start it now and with every session by:")
            terminal.say(f"systemctl --user daemon-reload && systemctl --user enable --now {unit.NAME}")
            return
        if demo:
            feeds.append(load("stap.serve.feeds.replay").Replay(user, [DEMO_LOG], DEMO_SPEED, live=LIVE))
        run, core = load("stap.serve.run"), load("stap.serve.core")
        run.serve(
            core.Settings(folder, model, memory, adapts), port, feeds, lambda address: _announce(address, demo, data)
        )


def _announce(address: str, show: bool, data: Path | None) -> None:
    terminal.say(f"stap serves at {address}")
    if show and data is not None:
        terminal.say(f"stap top --data {data} lists its apps, stap watch --data {data} follows them")
    sys.stdout.flush()  # for whoever reads it from a pipe while we run
    if show and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address)


def _options(
    data: Path | None, port: int, model: Path | None, memory: int, feeds: list[str], *others: Any
) -> list[str]:
    """What was asked for, as a unit says it: paths are whole, for it runs elsewhere."""
    given = {"--data": data and data.absolute(), "--port": port, "--model": _model(model), "--memory": memory}
    given |= dict(zip(("--as", "--zone", "--speed"), others, strict=True))
    options = [str(word) for name, value in given.items() if value is not None for word in (name, value)]
    return options + [word for each in feeds for word in ("--feed", _whole(each))]


def _switches(demo: bool, adapt: bool | None) -> list[str]:
    said = {None: [], True: ["--adapt"], False: ["--no-adapt"]}[adapt]
    return ["--demo"] * demo + said


def _model(model: Path | None) -> Path | None:
    return model.absolute() if model is not None and model.exists() else model


def _whole(feed: str) -> str:
    """A feed with its path from the root."""
    kind, _, what = feed.partition(":")
    return f"{kind}:{places.whole(what)}" if kind in ("folder", "replay") else feed
