"""Training for studies from the command line: seeds, context, no shuffle, and a run's test score in one command."""

from __future__ import annotations

import json
from pathlib import Path

from train.made import log_file

from cli.made import call
from stap.train import config


def test_a_run_is_scored_on_the_people_kept_for_testing(tmp_path: Path) -> None:
    log, run = log_file(tmp_path, 10, 40), tmp_path / "runs"
    options = ("--preset", "tiny", "--epochs", "1", "--split", "7:1:2", "--context", "32", "--no-shuffle")
    done = call("train", "--data", log, "--out", run, *options, "--seeds", "2")
    assert done.exit_code == 0, done.output
    for seed in (0, 1):
        settings = config.read(run / str(seed) / "config.toml")
        assert (settings.seed, settings.shuffle, settings.model.context) == (seed, False, 32)
        assert settings.curriculum == ()  # the tiny preset's shorter windows are not shorter than these
    users = [json.loads((run / seed / "users.json").read_text()) for seed in "01"]
    assert users[0] != users[1]
    scores = tmp_path / "scores.json"
    asked = ("--protocol", "paper", "--predictors", "previous,stap", "--json", scores)
    done = call("evaluate", log, "--run", run / "1", *asked)
    assert done.exit_code == 0, done.output
    result = json.loads(scores.read_text())
    assert result["context"] == 32
    assert sorted(result["predictors"]["stap"]["users"]) == users[1]["testing"]
    assert len(users[1]["testing"]) == 2


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    log = log_file(tmp_path, 4, 20)
    done = call("train", "--data", log, "--out", tmp_path / "a", "--seed", "1", "--seeds", "2")
    assert "--seeds: given beside --seed" in str(done.exception)
    done = call("evaluate", log, "--run", tmp_path, "--model", log)
    assert "--run: given beside --model" in str(done.exception)
