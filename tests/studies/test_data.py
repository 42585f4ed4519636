"""The data study and the one on draws of phi: worked out by hand, at toy size, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.made import call, write
from train.made import log_file

from stap.errors import BadInput
from stap.metrics import NAMES
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.published import PUBLISHED
from stap.studies.populations import populations


def test_people_are_named(tmp_path: Path) -> None:
    lsapp = tmp_path / "a.tsv"
    lsapp.touch()
    found = populations([str(lsapp), "-"], [], ["mine=x.csv", "mine=y.csv", "odd=a=b.csv"], "data")
    assert [(people.name, people.logs) for people in found] == [
        ("LSApp", (str(lsapp), "-")),
        ("mine", ("x.csv", "y.csv")),
        ("odd", ("a=b.csv",)),
    ]
    with pytest.raises(BadInput, match=r"no people to study; give --lsapp FILE .*github.com/aliannejadi/LSApp.*--log"):
        populations([], [], [], "data")
    for wrong in ("x.csv", "=x.csv", "x="):
        with pytest.raises(BadInput, match="is not NAME=LOG"):
            populations([], [], [wrong], "data")


def test_the_simplest_predictors_by_hand(tmp_path: Path) -> None:
    """a b a c: four usages, three of them with a label, each asked twice; whoever is not seen yet comes last."""
    log = write(tmp_path / "log.parquet", *(("u", app) for app in "abac"))
    done = call("study", "data", "--log", f"mine={log}", "--scale", "toy", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    mine = result["people"]["mine"]
    assert mine["counts"]["users"] == 1
    assert mine["counts"]["distinct apps"] == 3
    assert mine["covered"] == {"50": 100.0, "100": 100.0, "200": 100.0, "400": 100.0}
    # After a comes b (unknown), after b comes a (the other one: previous and MRU's second), after a comes c (unknown).
    assert mine["simple"]["previous"]["n"] == 6
    assert mine["simple"]["previous"]["HR@1"] == pytest.approx(100 / 3)
    assert mine["simple"]["mru"]["HR@1"] == 0.0
    assert result["published"]["LSApp"]["mru"] == list(PUBLISHED["LSApp"]["mru"])
    assert result["provenance"]["data"]["mine"]["logs"] == "log.parquet"
    assert "| people | users |" in (tmp_path / "out" / "result.md").read_text()
    again = call("study", "data", "--log", f"mine={tmp_path / 'none'}", "--scale", "toy", "--out", tmp_path / "out")
    assert isinstance(again.exception, BadInput)


def test_phi_s_luck_is_measured(tmp_path: Path) -> None:
    """A model of random weights has nothing else than luck; three draws, three figures."""
    model = tmp_path / "model.safetensors"
    weights.save(Transformer(ModelConfig(32, 32, 16, layers=1, heads=2, hidden=16)), model)
    log, out = log_file(tmp_path, users=2), tmp_path / "out"
    done = call("study", "phi", "--log", f"mine={log}", "--model", model, "--scale", "toy", "--out", out)
    assert done.exit_code == 0, done.output
    result = json.loads((out / "result.json").read_text())
    assert set(result["scores"]["mine"]) == set(NAMES)
    assert len(set(result["scores"]["mine"]["MRR@5"])) == 3
    assert result["provenance"]["seeds"] == [0, 1, 2]
    assert (out / "figure.svg").read_text().startswith("<?xml")
