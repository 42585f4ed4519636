"""Training from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from train.made import SHIPPED

from cli.made import GOOD, ROW, call, stap, started
from stap.train import config


def test_a_view_of_other_people_is_refused(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text((GOOD + ROW).replace("\nu,", "\nv,"))
    for command in ("train", "rival"):
        done = stap(command, "--data", log, "--view", other, "--out", tmp_path / "made")
        assert done.returncode == 2
        assert "none of its users, e.g. 'v', is in --data" in " ".join(done.stderr.split())
        assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_train_and_go_on(people: Path, tmp_path: Path) -> None:
    command = ("train", "--data", people, "--out", tmp_path / "run", "--preset", "tiny", "--epochs", "1")
    done = started(*command)
    assert done.returncode == 0, done.stderr
    assert "best validation loss" in done.stdout
    again = started(*command)
    assert again.returncode == 2
    assert "there is a run in it; continue it with --resume" in " ".join(again.stderr.split())
    assert started(*command, "--resume").returncode == 0
    alone = started("train", "--data", people, "--users", "u0", "--out", tmp_path / "alone")
    assert alone.returncode == 2
    assert "1 user to train on" in alone.stderr
    assert not (tmp_path / "alone").exists()


@pytest.mark.slow
def test_the_shipped_task_its_rival_and_who_they_are_measured_on(people: Path, tmp_path: Path) -> None:
    """Every setting from a file; a run that goes on from another's model; both on somebody who was held out."""
    made, trees, settings = tmp_path / "run", tmp_path / "gbdt.txt", tmp_path / "short.toml"
    config.write(replace(SHIPPED, population=replace(SHIPPED.population, steps=2, prior_steps=1)), settings)
    options = ("--data", people, "--view", people, "--fold", "1/2", "--always", "u0")
    training = ("train", *options, "--preset", "shipped", "--config", settings)
    for command in ((*training, "--out", made), ("rival", *options, "--out", trees)):
        done = started(*command)
        assert done.returncode == 0, done.stderr
    settings.write_text(f'start = "{made / "model.safetensors"}"\n{settings.read_text().replace("start = ", "# ")}')
    more = started(*training, "--out", tmp_path / "more")
    assert more.returncode == 0, more.stderr
    (held,) = json.loads((made / "users.json").read_text())["testing"]
    rankers = ("--model", made, "--ranker", trees)
    done = started("evaluate", people, "--users", held, "--predictors", "stap,gbdt", *rankers)
    assert done.returncode == 0, done.stderr
    assert "gbdt" in done.stdout
    refused = started(*training, "--out", made, "--resume", "--seed", "3")
    assert refused.returncode == 2
    assert "its run has seed = 0, not 3" in " ".join(refused.stderr.split())


def test_a_mistyped_folder_is_not_a_run_to_resume(people: Path, tmp_path: Path) -> None:
    done = stap("train", "--data", people, "--out", tmp_path / "mistyped", "--resume")
    assert done.returncode == 2
    assert "no run in it to resume" in " ".join(done.stderr.split())
    assert not (tmp_path / "mistyped").exists()


def test_adapt_writes_nothing_where_it_cannot_help(people: Path, tmp_path: Path) -> None:
    done = stap("adapt", people, "--user", "u0", "-o", tmp_path / "my.safetensors")
    assert done.returncode == 2
    assert "too few" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_help_says_what_the_tiny_preset_is_for() -> None:
    printed = " ".join(call("train", "--help").output.replace("│", " ").split())
    assert "for tests, takes seconds and learns nothing worth using" in printed
