"""Runs a command when another app is likeliest, and likely enough: to preload it, or to warm a cache.

The command is a list of arguments and never goes through a shell. It gets the app as an argument, in the place of {} or
at the end, and in the environment as STAP_APP.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from shutil import which
from threading import Event, Thread
from time import monotonic

from stap import terminal
from stap.errors import BadInput
from stap.serve.client import Client

Top = tuple[str, float]  # an app and its probability
HOLE = "{}"
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between two tries to reach the server


def command_of(text: str) -> list[str]:
    """What --exec says, as arguments; the program has to be there."""
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"--exec {text}", f"no command ({error})", "close its quotes") from None
    if not command or which(command[0]) is None:
        raise BadInput(f"--exec {text}", "no such program", "name one that is on the PATH")
    return command


def arguments(command: list[str], app: str) -> list[str] | None:
    """The command with the app in its place; None where the app's name would be taken for an option."""
    if any(HOLE in part for part in command[1:]):
        return [command[0], *(part.replace(HOLE, app) for part in command[1:])]
    return None if app.startswith("-") else [*command, app]


@dataclass
class Judge:
    """Says when it is time: the top changed, passes the threshold, and the last time was long enough ago."""

    threshold: float
    every: float  # seconds
    told: str | None = None  # the app of which the command last heard
    due: float = 0.0  # on a clock that only goes forward

    def wants(self, top: Top | None) -> bool:
        return top is not None and top[0] != self.told and top[1] >= self.threshold

    def tells(self, top: Top, now: float) -> None:
        self.told, self.due = top[0], now + self.every


def watch(client: Client, user: str, command: list[str], judge: Judge, stop: Event) -> None:
    """Until it is stopped. While the command runs, nothing else does; then the newest ranking counts."""
    news: SimpleQueue[Top | None] = SimpleQueue()
    Thread(target=_listen, args=(client, news, stop), name="live", daemon=True).start()
    top: Top | None = None
    while not stop.is_set():
        wait = max(0.0, judge.due - monotonic()) if judge.wants(top) else 1.0
        top = _newest(news, top, wait)
        if top is not None and judge.wants(top) and monotonic() >= judge.due:
            _run(command, user, top)
            judge.tells(top, monotonic())  # now: on a busy machine a command begins some time after it was wanted


def _newest(news: SimpleQueue[Top | None], top: Top | None, wait: float) -> Top | None:
    try:
        top = news.get(timeout=wait)
        while True:
            top = news.get_nowait()
    except Empty:
        return top


def _listen(client: Client, news: SimpleQueue[Top | None], stop: Event) -> None:
    """Hands on every ranking's top; a server that is away is asked again, less and less often."""
    wait = FIRST_WAIT
    while not stop.is_set():
        try:
            for ranking in client.live(1):
                wait = FIRST_WAIT
                news.put(ranking[0] if ranking else None)
        except BadInput as error:
            terminal.note(f"stap watch: {error}")
        stop.wait(wait)
        wait = min(LONGEST_WAIT, 2 * wait)


def _run(command: list[str], user: str, top: Top) -> None:
    app, probability = top
    given = arguments(command, app)
    if given is None or "\0" in app:
        terminal.note("stap watch: an app whose name begins with - is no argument; give {} a place, as in --app={}")
        return
    about = {"STAP_APP": app, "STAP_PROBABILITY": f"{probability:.4f}", "STAP_USER": user}
    try:
        done = subprocess.run(given, stdin=subprocess.DEVNULL, env=os.environ | about, check=False)
    except OSError as error:
        terminal.note(f"stap watch: {command[0]}: {error.strerror}")
        return
    if done.returncode:
        terminal.note(f"stap watch: {command[0]} ended with exit code {done.returncode}")
