"""Words for a person: harmless names, bars that stay out of files, tables that go on below."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from stap import terminal
from stap.terminal import Grid, harmless, note, progress


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b2J", r"\x9b2J"),  # the same in one character
        ("a\nb\tc\x7f", r"a\nb\tc\x7f"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\u2066x\u2069\u200f", r"\u2066x\u2069\u200f"),
        ("a\u2028b", r"a\u2028b"),
        ("\ud800", r"\ud800"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🚀 Café 微信 a\u00a0b", "👩\u200d🚀 Café 微信 a\u00a0b"),
    ],
)
def test_names_are_shown_harmlessly(name: str, shown: str) -> None:
    assert harmless(name) == shown


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    file = io.StringIO()
    monkeypatch.setattr(
        terminal, "err", Console(file=file, force_terminal=True, width=60, highlight=False, emoji=False)
    )
    return file


def test_a_note_takes_no_orders(screen: io.StringIO) -> None:
    note("[bold]x[/] :smile: \x1b[31m " + "long " * 30)
    assert screen.getvalue() == "[bold]x[/] :smile: \\x1b[31m " + "long " * 30 + "\n"
    assert not terminal.out._emoji, "nor does the real one"


def test_work_shows_a_bar_that_counts_every_step(screen: io.StringIO) -> None:
    with progress("counting", 2000) as tick:
        for _ in range(2000):
            tick(1)
    assert "counting" in screen.getvalue()
    assert "2000/2000" in screen.getvalue()


def test_work_inside_of_work_shows_its_bar_in_the_same_display(screen: io.StringIO) -> None:
    with progress("all", 2) as tick:
        with progress("a part", 3) as step:
            step(3)
        tick(2)
    assert "all" in screen.getvalue()
    assert "2/2" in screen.getvalue()


def test_work_without_a_known_end_shows_that_it_goes_on(screen: io.StringIO) -> None:
    with progress("reading"):
        pass
    assert "reading" in screen.getvalue()
    assert "0:00:00" in screen.getvalue()


def test_no_bar_gets_into_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=file))
    with progress("counting", 3) as tick:
        tick(3)
    assert file.getvalue() == ""


def test_columns_that_do_not_fit_come_below_beside_the_names() -> None:
    console = Console(width=20, file=io.StringIO())
    headers, rows = ("who", "aaaaaa", "bbbbbb", "cccccc"), [("x", "1", "2", "3"), ("y\x1b", "4", "5", "6")]
    console.print(Grid("title", headers, rows))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split() for line in lines if set(line) - set(" ─")] == [
        ["title"], ["who", "aaaaaa", "bbbbbb"], ["x", "1", "2"], ["y\\x1b", "4", "5"],
        ["who", "cccccc"], ["x", "3"], ["y\\x1b", "6"],
    ]  # fmt: skip
