"""What a person sees while a run goes on: a bar with the loss, what stands beside it, events/s and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stap import terminal
from stap.train import checkpoint

Board = Callable[..., None]  # board(steps done, loss=..., rate=..., epoch=..., beside=...)


@contextmanager
def board(total: int, done: int, show: bool) -> Iterator[Board]:
    """A bar over all steps of the run on standard error; silent on the processes that do not write."""
    wide = terminal.err.width >= 80
    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        *([BarColumn()] if wide else []),
        TextColumn("loss {task.fields[loss]:.3f}  {task.fields[beside]}  {task.fields[rate]:,.0f} events/s"),
        *([TimeElapsedColumn()] if wide else []),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False, compact=True),
    )
    if not show or done >= total:
        yield lambda *_, **__: None
        return
    with terminal.shown(*columns, transient=False) as bar:
        task = bar.add_task("training", total=total, completed=done, epoch=0, loss=float("nan"), beside="", rate=0.0)
        yield lambda steps, **values: bar.update(task, completed=steps, **values)
        if bar.live.transient:  # inside of other work, which goes on
            bar.remove_task(task)


def say_people(split: dict[str, list[str]], users: int, vocabulary: int) -> None:
    """Who trains, and who was left out and why, on standard error."""
    text = ", ".join(f"{len(names)} for {part}" for part, names in split.items() if names)
    left_out = users - sum(len(names) for names in split.values())
    if left_out:
        text += f"; {left_out} left out, with more than {vocabulary} distinct apps"
    terminal.note(f"users: {text}")


def say_result(progress: checkpoint.Progress, path: Path) -> None:
    """The last word of a run, on standard output."""
    if progress.best_epoch:
        terminal.say(f"best validation loss {progress.best_loss:.4f} after epoch {progress.best_epoch} -> {path}")
    else:
        terminal.say(f"{progress.steps:,} steps, {progress.events:,} events -> {path}")
