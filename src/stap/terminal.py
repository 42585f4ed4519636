"""Where words for a person go: two consoles, one bar for long work, and text that cannot harm a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress as bars
from rich.console import Console

Tick = Callable[[int], None]  # called with the number of steps just done

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def quiet(_: int) -> None:
    """The tick of work that nobody watches."""


def say(text: str, console: Console = out) -> None:
    """One line as it is: no markup, no wrapping."""
    console.print(text, soft_wrap=True, markup=False)


def note(text: str) -> None:
    """A line that is not the result: on standard error."""
    say(text, err)


@contextmanager
def progress(title: str, total: int) -> Iterator[Tick]:
    """A bar on standard error that disappears when done; call what it yields with the number of steps taken."""
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.advance(task, steps)
