"""The models that ship: found by name, and what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from stap import Predictor
from stap.engine import EngineModel
from stap.errors import BadInput
from stap.model.weights import read_config
from stap.weights import SHIPPED, model_file, shipped


def test_models_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_file(None) == shipped() == model_file(Path("stap"))
    assert model_file(Path("pure")) == shipped("pure")
    (tmp_path / "pure").mkdir()  # a folder of one's own comes first
    with pytest.raises(BadInput, match="pure: a folder without a trained model"):
        model_file(Path("pure"))


def test_the_pure_model_is_pure() -> None:
    """No statistics, a context of at least 2,048 events, a file of at most 12 MB."""
    config = read_config(shipped("pure"))
    assert (config.evidence, config.launches) == (0, 0)
    assert config.context >= 2048
    assert shipped("pure").stat().st_size <= 12_000_000
    assert not EngineModel(shipped("pure")).evidence


@pytest.mark.parametrize("name", SHIPPED)
def test_each_learns_who_takes_turns(name: str) -> None:
    """Two apps in turn for a day: the other one comes next."""
    predictor = Predictor.load(name)
    for usage in range(40):
        predictor.opened("ab"[usage % 2], 10.0 * usage)
        predictor.closed("ab"[usage % 2], 10.0 * usage + 5)
    assert predictor.rank(2)[0][0] == "a"
