"""The table of people nobody trained on: what it adds up, and what it refuses to add up."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from train.made import corpus, log_file

from stap.engine import EngineModel
from stap.errors import BadInput
from stap.evaluate import report, stream
from stap.events import Corpus, from_table
from stap.metrics import MISS, NAMES, calibration_error
from stap.predictors import CLASSICAL
from stap.registry import Stap

people = import_module("stap.studies.people")
people_figures = import_module("stap.studies.people_figures")

USERS = [f"u{n}" for n in range(4)]
FOLDS = (["u0", "u3"], ["u1", "u2"])


def make_run(folder: Path, testing: list[str], rival: bool = True) -> Path:
    """One fold's folder: a random model, and trees of those who train."""
    from stap.model import weights
    from stap.model.config import ModelConfig
    from stap.model.transformer import Transformer
    from stap.train import trees

    folder.mkdir()
    training = [user for user in USERS if user not in testing]
    (folder / "users.json").write_text(json.dumps({"training": training, "testing": testing}))
    torch.manual_seed(len(folder.name))
    weights.save(
        Transformer(ModelConfig(vocabulary=16, context=32, dim=8, layers=1, heads=2, hidden=8, evidence=8)),
        folder / "model.safetensors",
    )
    if rival:
        everybody = corpus(4)
        trees.train(everybody.select(np.array([USERS.index(user) for user in training])), folder / "gbdt.txt", trees=3)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [make_run(folder / f"fold{n}", testing) for n, testing in enumerate(FOLDS, 1)]


def test_pooled_over_folds_is_everybody_once(runs: list[Path]) -> None:
    """Classical predictors know no folds: their pooled figures are those of one pass over all users."""
    everybody = corpus(4)
    found = people_figures.figures(people.collect(people.held_out(everybody, runs)))
    assert found["users"] == 4
    for name, make in CLASSICAL.items():
        wanted = report(stream(everybody, make), "stream")
        assert found["pooled"]["predictors"][name] == pytest.approx(wanted["pooled"])
        for row in found["by user"]:
            assert row["HR@1"][name] == wanted["users"][row["user"]]["HR@1"]
    own = [report(stream(g.people, Stap(EngineModel(g.model))), "stream") for g in people.held_out(everybody, runs)]
    hits = sum(one["pooled"]["HR@1"] * one["pooled"]["n"] for one in own)
    pooled = found["pooled"]["predictors"]
    assert pooled["stap"]["HR@1"] == pytest.approx(hits / sum(one["pooled"]["n"] for one in own))
    assert {row["n"] for row in pooled.values()} == {len(everybody.app) - 4}
    assert list(pooled) == [*CLASSICAL, "stap", "gbdt"]


def made(rank: dict[str, list[int]], people_: Corpus, top: list[float], unseen: list[float]) -> object:
    filled = {name: np.array(rank.get(name, [MISS] * len(top)), np.int32) for name in (*CLASSICAL, "stap", "gbdt")}
    return people_figures.Streamed.over([people_], filled, np.array(top), np.array(unseen))


def test_figures_by_hand() -> None:
    """Two people, a b a c and a b a: labels b* a c* and b* a, where * comes for the first time."""
    import polars as pl

    from stap.usage import TIME

    minutes = pl.Series("start", [1, 2, 3, 4, 1, 2, 3]) * 60_000_000
    table = pl.DataFrame({"user": [*"uuuuvvv"], "app": [*"abacaba"], "start": minutes}).with_columns(
        pl.col("start").cast(TIME), pl.col("start").cast(TIME).alias("end")
    )
    rank = {"blend": [1, 1, 2, MISS, 2], "mfu": [1, 1, 1, 9, 9], "stap": [1, 2, MISS, 3, 1], "gbdt": [MISS, 1, 9, 9, 4]}
    found = people_figures.figures(made(rank, from_table(table), [0.9, 0.8, 0.1, 0.5, 0.7], [0.5, 0.1, 0.2, 0.1, 0.1]))
    pooled = found["pooled"]
    assert pooled["margins"]["HR@1"] == {"best classical": "mfu", "over classical": -20.0, "over gbdt": 20.0}
    assert pooled["margins"]["HR@3"]["best classical"] == "blend"
    # u: 1 hit of 3 beside 3, v: 1 of 2 beside none. Who draws u twice has -66.67, who draws v twice +50.
    assert str(pooled["paired"]["over classical"]["HR@1"]) == "= -20.00 [-66.67, +50.00]"
    assert pooled["paired"]["over classical"].keys() == pooled["paired"]["over gbdt"].keys() == set(NAMES)
    assert pooled["oracle"] == {"seen before": 40.0, "HR@1 of the best first choice": 80.0}
    assert found["worst user"]["user"] == "u"
    assert found["worst user"]["margin"] == pytest.approx(100 / 3 - 100)
    assert found["worst user"]["best classical"] == "mfu"
    unseen = found["calibration"]["unseen"]
    assert (unseen["foretold"], unseen["came"]) == (pytest.approx(20.0), pytest.approx(60.0))
    assert found["calibration"]["top-1"]["came"] == pytest.approx(40.0)


def test_cold_start_is_the_first_usages_of_each(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    streamed = people.collect(people.held_out(corpus(4), runs))
    monkeypatch.setattr(people_figures, "COLD", 7)
    cold = people_figures.figures(streamed)["first 7"]["predictors"]["mru"]
    ranks = stream(corpus(4), CLASSICAL["mru"])
    first = np.concatenate([ranks.rank[(ranks.user == user) & ~ranks.opened][:7] for user in range(4)])
    assert cold["n"] == 28
    assert cold["HR@5"] == pytest.approx(100 * np.mean(first <= 5))


def test_anew_is_everybody_again_without_a_past(runs: list[Path]) -> None:
    """mru remembers nothing but its stretch: a pass over the stretches as people of their own gives the same."""
    groups = [people._anew(group, 10) for group in people.held_out(corpus(4), runs)]
    found = people_figures.cold(people.collect(groups))
    assert found["stretches"] == sum(len(group.people.users) for group in groups) > 4
    ranks = np.concatenate([stream(group.people, CLASSICAL["mru"]).rank[1::2] for group in groups])
    assert found["pooled"]["predictors"]["mru"]["HR@3"] == pytest.approx(100 * np.mean(ranks <= 3))
    assert found["pooled"]["predictors"]["mru"]["n"] == 9 * found["stretches"]
    with pytest.raises(BadInput, match="nobody has 9999 usages"):
        people._anew(groups[0], 9999)


def test_what_is_noted_belongs_to_the_position(runs: list[Path]) -> None:
    """The notes after each close are those of a predictor that is asked there and nowhere else."""

    group = people.held_out(corpus(4), runs)[0]
    (ranks, held), model, position = people.score(group, "stap"), Stap(EngineModel(group.model)), 0
    for user in range(len(group.people.users)):
        predictor, rows = model.of(group.people.users[user]), group.people.rows(user)
        for opened, closed in list(group.people.events(user, rows))[:-1]:
            predictor.observe(opened)
            predictor.observe(closed)
            best = predictor.rank(1)
            assert held[position, 0] == pytest.approx(best[0][1] if best else 0.0, abs=1e-3)
            assert held[position, 1] == pytest.approx(predictor.unseen(), abs=1e-3)
            position += 1
    assert position == len(ranks)


@pytest.mark.parametrize(
    ("users", "why"),
    [
        ({"training": ["u1"], "testing": ["u1"]}, "both trained and held out"),
        ({"training": [], "testing": ["u0"]}, "held out twice"),
        ({"training": [], "testing": ["nobody"]}, "not in the log"),
        ({"training": ["u1"], "testing": []}, "nobody was held out"),
        ({"training": ["u1"]}, "does not list"),
        ({"training": 3, "testing": ["u1"]}, "does not list"),
        ([], "does not list"),
    ],
)
def test_runs_that_do_not_fit_are_refused(runs: list[Path], tmp_path: Path, users: object, why: str) -> None:
    (tmp_path / "users.json").write_text(json.dumps(users))
    with pytest.raises(BadInput, match=why):
        people.held_out(corpus(4), [runs[0], tmp_path])


def test_a_rival_in_some_folds_only_is_refused(runs: list[Path], tmp_path: Path) -> None:
    bare = make_run(tmp_path / "bare", FOLDS[1], rival=False)
    with pytest.raises(BadInput, match=r"no gbdt\.txt"):
        people.held_out(corpus(4), [runs[0], bare])
    assert people.held_out(corpus(4), [bare])[0].predictors == (*CLASSICAL, "stap")


def test_calibration_error_by_hand() -> None:
    assert calibration_error(np.array([1.0, 0.0]), np.array([True, False])) == 0.0
    assert calibration_error(np.full(4, 0.5), np.array([True, False, True, False])) == 0.0
    assert calibration_error(np.full(4, 0.75), np.array([True, False, True, False])) == pytest.approx(25.0)
    # Bins do not make up for each other: 0.2 too little in one, 0.2 too much in the other.
    assert calibration_error(np.array([0.8, 0.2]), np.array([True, False])) == pytest.approx(20.0)


@pytest.mark.slow
def test_command_line_in_two_processes(runs: list[Path], tmp_path: Path) -> None:
    log, out = log_file(tmp_path, users=4), tmp_path / "people.json"
    zero_shot = ["--zero-shot", log, "--model", runs[0] / "model.safetensors"]
    folds = [word for run in runs for word in ("--runs", run)]
    words = ["study", "people", "--data", log, *folds, "--json", out, *zero_shot, "--anew", "10"]
    done = subprocess.run([sys.executable, "-m", "stap", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert set(found) == {"held out", "zero-shot", "provenance", "tables"}
    assert "over gbdt" in found["held out"]["pooled"]["margins"]["HR@1"]
    assert "gbdt" not in found["zero-shot"]["pooled"]["predictors"]
    assert found["held out"]["anew"]["stretches"] > 4
    assert "stap over gbdt" in done.stdout
    assert "=: the test calls no winner" in done.stdout
    assert found["provenance"]["question"].endswith("?")
    assert "anew every 10 usages" in done.stdout
    assert "worst user" in done.stdout
