"""The short way of `stap top`: the same words as the long one, and nothing imported that a menu would wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from cli.made import stap
from stap.cli import app, quick
from stap.serve import top

APPS = ["Mail", "50% off?", "Ünïcode \u202e", "-dash"]
HEAVY = {"typer", "rich", "pydantic", "polars", "numpy", "torch", "fastapi", "stap.terminal", "stap.cli.commands"}
LOADED = "import sys; from stap.cli import quick; quick.answered(sys.argv[1:]); print(*sys.modules)"


@pytest.fixture
def ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that always says the same."""
    monkeypatch.setattr(top, "_ranked", lambda k, user, data: APPS[:k])


@pytest.mark.parametrize("options", [(), ("-k", "2"), ("--user", "anna", "-k", "3"), ("--list", "-"), ("--data", "x")])
def test_both_ways_say_the_same(ranked: None, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]) -> None:
    menu = b"other\nMAIL\n50% off?\n"
    short = stap("top", *options, feed=menu)
    monkeypatch.setattr(quick, "answered", lambda words: False)
    long = stap("top", *options, feed=menu)
    assert (short.stdout, short.stderr, short.returncode) == (long.stdout, long.stderr, long.returncode)
    assert short.stdout


@pytest.mark.parametrize(
    "words",
    [
        *([["top", "-k", k] for k in ("0", "101", "x", "²", "-1")]),
        ["top", "--help"],
        ["top", "-k2", "x"],
        ["top", "--user"],
        ["top", "--user", "--data"],
        ["watch", "--exec", "x"],
        [],
    ],
)
def test_what_is_not_plain_goes_the_long_way(ranked: None, words: list[str]) -> None:
    assert not quick.answered(words)


def test_the_short_way_knows_every_option() -> None:
    known = get_command(app).commands["top"].params  # type: ignore[attr-defined]
    assert {each.opts[0]: each.name for each in known} == quick.OPTIONS
    assert {each.name: each.default for each in known}["k"] == int(quick.K)


def test_without_a_server_the_long_way_says_why(tmp_path: Path) -> None:
    done = stap("top", "--data", tmp_path)
    assert done.returncode == 2
    assert "no server has run here; start `stap serve`" in done.stderr


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    menu = tmp_path / "menu"
    menu.write_text("Mail\n")
    command = [sys.executable, "-c", LOADED, "top", "--data", str(tmp_path), "--list", str(menu)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, modules = done.stdout.splitlines()
    assert first == "Mail"
    assert not HEAVY & set(modules.split())
