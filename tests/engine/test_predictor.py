"""The engine behind the predictors' Protocol: state, errors a person can cause, people with many apps."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stap.engine import EngineModel, Settings
from stap.errors import BadInput
from stap.events import Event
from stap.predictors.base import Predictor
from stap.registry import maker

from .reference import SMALL, person, saved, sharp


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(sharp(SMALL), tmp_path)


def test_is_a_predictor(path: Path) -> None:
    predictor: Predictor = maker("stap", path)()
    assert predictor.rank(5) == []
    predictor.observe(Event("mail", 1, 29e6, 8.0))
    assert predictor.rank(5) == [("mail", 1.0)]
    predictor.observe(Event("ابزار ✉", 1, 29e6 + 1, 8.02))
    ranked = predictor.rank(5)
    assert {app for app, _ in ranked} == {"mail", "ابزار ✉"}
    assert sum(p for _, p in ranked) == pytest.approx(1)


@pytest.mark.parametrize("strategy", ["iswi", "reset", "re-prefill", "rolling"])
@pytest.mark.parametrize("cut", [0, 1, 63, 64, 100, 128, 200, 333])
def test_snapshot_goes_on_with_the_same_bits(path: Path, strategy: str, cut: int) -> None:
    model = EngineModel(path, "int8")
    one = model.predictor(Settings(strategy=strategy))  # type: ignore[arg-type]
    events = person(400, 80)  # more apps than the model has indices for
    for step, event in enumerate(events[:cut]):
        one.observe(event)
        if step % 3 == 0:
            one.rank(1)
        if step % 50 == 0:
            one.catch_up(7)
    two = model.restore(one.snapshot())
    for event in events[cut:]:
        one.observe(event)
        two.observe(event)
        assert one.rank(5) == two.rank(5)
        assert np.array_equal(one.logits(), two.logits())


def test_bad_input_is_named(path: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        EngineModel(tmp_path / "none")
    (tmp_path / "text").write_text("no model at all, but longer than eight bytes")
    with pytest.raises(BadInput, match="text: a header of"):
        EngineModel(tmp_path / "text")
    model = EngineModel(path)
    with pytest.raises(BadInput, match="engine settings"):
        model.predictor(Settings(context=7))
    with pytest.raises(BadInput, match="snapshot"):
        model.restore(b"nonsense")
    with pytest.raises(BadInput, match="snapshot"):
        EngineModel(path, "fp16").restore(model.predictor().snapshot())
    predictor = model.predictor()
    for event in (
        Event("a", 1, float("nan"), 1.0),
        Event("a", 1, float("inf"), 1.0),
        Event("a", 1, 0.0, 24.0),
        Event("a", 7, 0.0, 1.0),
        Event("", 1, 0.0, 1.0),
    ):
        with pytest.raises(BadInput, match="event: "):
            predictor.observe(event)
    assert predictor.rank(3) == []


def test_the_environment_names_the_best_kernels(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = EngineModel(path)
    best = model.predictor().info()["kernels"]
    monkeypatch.setenv("STAP_KERNELS", "scalar")
    predictor = model.predictor()
    assert predictor.info()["kernels"] == "scalar"
    assert model.predictor(Settings(kernels=best)).info()["kernels"] == best
    monkeypatch.setenv("STAP_KERNELS", "abacus")
    assert model.predictor().info()["kernels"] == best
    assert model.restore(predictor.snapshot()).info()["kernels"] == "scalar"  # with them, every bit


def test_five_hundred_apps(path: Path) -> None:
    """Past V apps the one unused for longest goes; the ranking holds only apps that still have an index."""
    predictor = EngineModel(path).predictor()
    events = person(3000, 500, seed=4)
    recent: dict[str, None] = {}
    for event in events:
        predictor.observe(event)
        recent.pop(event.app, None)
        recent[event.app] = None
    ranked = predictor.rank(1000)
    assert {app for app, _ in ranked} == set(list(recent)[-SMALL.vocabulary :])
    assert predictor.info()["forgotten"] > 400
    assert sum(p for _, p in ranked) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_what_five_hundred_apps_cost() -> None:
    """200 indices instead of 512, the same person and model: some accuracy goes, and less than was out of reach."""
    many_apps = import_module("stap.studies.many_apps")
    person = many_apps.person()
    assert person.app_counts.tolist() == [500]
    roomy, tight = many_apps.measure(person, (512, 200)).values()
    assert roomy["out of reach"] == 0
    assert roomy["HR@1"] > 14  # the model knows its person: `previous` has 10, `mfu` 2
    for name in ("HR@1", "HR@3", "HR@5"):
        assert 0 < roomy[name] - tight[name] < 3 < tight["out of reach"]


def test_memory_grows_with_the_history_and_then_stops(path: Path) -> None:
    predictor = EngineModel(path).predictor(Settings(context=2048))
    sizes = []
    for step, event in enumerate(person(9000, 50)):
        predictor.observe(event)
        if step % 512 == 0:
            predictor.catch_up(10_000)
            sizes.append(predictor.info()["cache_bytes"])
    assert sizes[0] * 3 < sizes[-1]
    assert max(sizes) <= 3072 // 256 * sizes[0] + 2 * sizes[0]
    assert sizes[-6:] == [sizes[-1]] * 6


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"strategy": "x"}, "no 'x'; choose one of iswi"),
        ({"cache": None}, "no None; choose one of fp32"),
        ({"kernels": "x" * 500}, "choose one of best"),
        ({"context": -5}, "no possible number; check context"),
        ({"context": 2**70}, "no possible number; check context"),
        ({"seed": "x"}, "no possible number; check context"),
    ],
)
def test_settings_that_cannot_be_are_one_line(path: Path, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as error:
        EngineModel(path).predictor(Settings(**wrong))
    assert words in str(error.value)
    assert len(str(error.value)) < 300
    with pytest.raises(BadInput, match="no 'fp64'; choose one of fp32, fp16, int8"):
        EngineModel(path, weights="fp64")  # type: ignore[arg-type]
