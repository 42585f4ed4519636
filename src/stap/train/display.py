"""What a person sees while a run goes on: a bar with loss, HR@1, events/s and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Board = Callable[..., None]  # board(steps done, loss=..., rate=..., epoch=..., hits=...)


@contextmanager
def board(total: int, done: int, epochs: int, show: bool) -> Iterator[Board]:
    """A bar over all steps of the run on standard error; silent on the processes that do not write."""
    columns = (
        TextColumn("epoch {task.fields[epoch]}/" + str(epochs)),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  HR@1 {task.fields[hits]}  {task.fields[rate]:,.0f} events/s"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False, compact=True),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not show) as bar:
        task = bar.add_task("", total=total, completed=done, epoch=0, loss=float("nan"), hits="-", rate=0.0)

        def update(steps: int, **values: Any) -> None:
            bar.update(task, completed=steps, **values)

        yield update


@contextmanager
def steps_bar(total: int, done: int) -> Iterator[Callable[[int, float, float], None]]:
    """A bar over a recipe's steps: the loss, and the blend's on the same positions."""
    columns = (
        TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f} (blend {task.fields[blend]:.3f})"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False, compact=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, completed=done, loss=float("nan"), blend=float("nan"))
        yield lambda steps, loss, blend: bar.update(task, completed=steps, loss=loss, blend=blend)


def say_people(split: dict[str, list[str]], users: Sequence[str], vocabulary: int) -> None:
    """Who trains, and who was left out and why, on standard error."""
    text = ", ".join(f"{len(names)} for {part}" for part, names in split.items() if names)
    left_out = len(users) - sum(len(names) for names in split.values())
    if left_out:
        text += f"; {left_out} left out, with more than {vocabulary} distinct apps"
    Console(stderr=True, highlight=False).print(f"users: {text}", soft_wrap=True, markup=False)


def say_best(loss: float, epoch: int, path: Path) -> None:
    """The last word of a run, on standard output."""
    text = f"best validation loss {loss:.4f} after epoch {epoch} -> {path}"
    Console(highlight=False).print(text, soft_wrap=True, markup=False)
