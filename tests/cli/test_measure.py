"""Benches and studies from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from train.made import log_file
from typer.main import get_command

from cli.made import call, stap
from stap.cli import app
from stap.errors import BadInput


def test_a_study_of_loggers_and_one_of_numbers(tmp_path: Path) -> None:
    log = log_file(tmp_path, users=2, usages=20)
    for name in ("loggers", "numbers"):
        done = call("study", name, log, "--users", "u0", "--json", tmp_path / name)
        assert done.exit_code == 0, done.exception
    by_logger = json.loads((tmp_path / "loggers").read_text())
    assert by_logger["title"].startswith("1 people by 6 loggers")
    assert by_logger["figures"][0].keys() == {"what", "value", "unit", "bound", "held"}
    cases = json.loads((tmp_path / "numbers").read_text())["cases"]
    assert {"fp32 weights, fp32 cache", "int8, rolling", "int8, 25 indices"} <= set(cases)
    assert cases["int8, reset"]["n"] == 19


@pytest.mark.parametrize(
    "words",
    [(), ("--data", "log"), ("--runs", "run"), ("--zero-shot", "log"), ("--data", "a", "--runs", "b", "--model", "c")],
)
def test_people_are_studied_with_both_options_of_a_pair(words: tuple[str, ...]) -> None:
    done = call("study", "people", *words)
    assert isinstance(done.exception, BadInput)
    assert "--data goes with --runs" in str(done.exception)


def test_options_that_make_no_sense_end_with_2() -> None:
    for words in (
        ("bench", "stream", "--data", "log"),
        ("study", "people", "--data", "log", "--runs", "run", "--anew", "1"),
        ("study", "nothing"),
    ):
        assert call(*words).exit_code == 2
    assert stap("study", "people").returncode == 2


def test_every_command_that_reads_logs_has_the_same_options() -> None:
    tree = get_command(app)
    commands = tree.commands | tree.commands["study"].commands  # type: ignore[attr-defined]
    ours = ["import", "describe", "evaluate", "predict", "train", "rival", "adapt"]
    for name in [*ours, "people", "launch", "loggers", "numbers"]:
        params = {param.name: param for param in commands[name].params}
        assert {"format", "zone", "skip_bad_rows", "keep_system", "users"} <= set(params), name
        assert "read" not in params
        assert params["users"].opts == ["--users", "--user"]
