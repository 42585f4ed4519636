"""Where words for a person go: two consoles, one bar for long work, tables for any width, names that cannot harm."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from rich import box
from rich import progress as bars
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from stap.errors import harmless as harmless  # everybody who shows words finds it here

Tick = Callable[[int], None]  # called with the number of steps just done

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)

ASCII = {
    char: plain
    for chars, plain in (("─━═╌", "-"), ("│┃║", "|"), ("▄▅▆▇█▌▋▊▉▓", "#"), ("▁▂▃▏▎▍░▒", "."))
    for char in chars
}
NAME = 24  # where room is short a row's name wraps at its words, and a longer word than this folds


def quiet(_: int) -> None:
    """The tick of work that nobody watches."""


def say(text: str, console: Console = out) -> None:
    """One line as it is: no markup, no wrapping."""
    console.print(harmless(text), soft_wrap=True, markup=False)


def note(text: str) -> None:
    """A line that is not the result: on standard error. Where that is gone or full, nobody hears it."""
    with suppress(OSError):
        say(text, err)


def hush() -> None:
    """No word and no bar from here on: a worker's would fall between those of the process that a person watches."""
    out.quiet = err.quiet = True


def prepare() -> None:
    """What a terminal cannot encode is spelled out, so that no letter and no bar ends a command."""
    codecs.register_error("stap", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="stap")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(ASCII.get(char) or char.encode("unicode_escape").decode() for char in text), error.end


_bars: list[bars.Progress] = []  # the one on the screen, if there is one: work inside of work shows its bar below it


@contextmanager
def shown(*columns: bars.ProgressColumn, total: int | None = None, transient: bool = True) -> Iterator[bars.Progress]:
    """The bars on the screen, or new ones with these columns (a bar, a count and the time left, where none are given).

    A second display on one terminal would tear the first.
    """
    if _bars:
        yield _bars[-1]
        return
    count = (bars.MofNCompleteColumn(), bars.TimeRemainingColumn()) if total else (bars.TimeElapsedColumn(),)
    usual = (bars.TextColumn("{task.description}", markup=False), bars.BarColumn(20), *count)
    off = not err.is_terminal or err.quiet
    with bars.Progress(*(columns or usual), console=err, transient=transient, disable=off) as display:
        _bars.append(display)
        try:
            yield display
        finally:
            _bars.pop()


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Tick]:
    """A bar on standard error that disappears when done; call what it yields with the number of steps taken.

    Until the first step, and without a total, it only says that work goes on.
    """
    inside = bool(_bars)
    with shown(total=total) as bar:
        task = bar.add_task(title, total=total, start=total is None)
        done = told = 0

        def tick(steps: int) -> None:
            nonlocal done, told
            done += steps
            if done - told >= (total or 0) / 500:  # a bar cannot show less, and telling it costs time
                bar.start_task(task)
                bar.update(task, completed=done)
                told = done

        yield tick
        if inside:
            bar.remove_task(task)


@dataclass(frozen=True)
class Grid:
    """A table for any width: columns that do not fit come below, beside the same names again. Nothing is cut."""

    title: str
    headers: Sequence[str]  # the first is over the rows' names
    rows: Sequence[Sequence[str | Text]]
    caption: str = ""
    words: tuple[str, ...] = ()  # further columns that hold words, which may wrap; all others hold figures

    def data(self) -> dict[str, Any]:
        """The same for a program, as JSON has it."""
        rows = [[str(cell) for cell in row] for row in self.rows]
        return {"title": self.title, "headers": list(self.headers), "rows": rows, "caption": self.caption}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(harmless(self.title), style="bold")
        columns = [
            [Text(harmless(cell)) if isinstance(cell, str) else cell for cell in cells]
            for cells in zip(self.headers, *self.rows, strict=True)
        ]
        for number, block in enumerate(self._blocks(columns, options.max_width)):
            if number:
                yield ""
            yield self._table(block, options.max_width)
        if self.caption:
            yield Text("\n".join(map(harmless, self.caption.split("\n"))), style="dim")

    def _blocks(self, columns: list[list[Text]], width: int) -> list[list[list[Text]]]:
        """The columns that fit side by side, again and again, the first one always among them."""
        blocks: list[list[list[Text]]] = []
        room = 0
        for column in columns[1:]:
            need = 1 + max(_widths(column, str(column[0]) in self.words))
            if need > room:
                blocks.append(columns[:1])
                room = width - min(NAME, max(_widths(columns[0], by_word=True)))
            blocks[-1] = [*blocks[-1], column]
            room -= need
        return blocks

    def _table(self, columns: list[list[Text]], width: int) -> Table:
        roomy = sum(max(_widths(column)) + 2 for column in columns) - 2 <= width
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, int(roomy), 0, 0))
        for place, (header, *_) in enumerate(columns):
            words = not place or str(header) in self.words
            table.add_column(header, justify="left" if words else "right", no_wrap=not words, overflow="fold")
        for row in list(zip(*columns, strict=True))[1:]:
            table.add_row(*row)
        return table


def _widths(column: list[Text], by_word: bool = False) -> list[int]:
    return [part.cell_len for cell in column for part in (cell.split(" ") if by_word else [cell])] or [0]
