"""The engine and PyTorch: the same logits and the same ranking, event by event, across ISWI's hand-overs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from shared import shared_log

from stap.demo.person import LOG
from stap.engine import EngineModel, Settings
from stap.events import Event, merged
from stap.model.config import ModelConfig
from stap.reference.session import Stap
from stap.sources import read

from .reference import SMALL, iswi_logits, person, saved, sharp

PURE = ModelConfig(  # every switch of the preset
    vocabulary=45,
    context=64,
    dim=32,
    layers=2,
    heads=4,
    hidden=48,
    query_key_norm=True,
    ordinal_heads=2,
    tied_apps=True,
    mixed_keys=True,
    pointing_heads=5,
)
EXACT = Settings(cache="fp32")


def engine_logits(path: Path, events: list[Event], settings: Settings, weights: str = "fp32") -> NDArray[np.float32]:
    predictor = EngineModel(path, weights).predictor(settings)  # type: ignore[arg-type]
    found = []
    for event in events:
        predictor.observe(event)
        found.append(predictor.logits())
    return np.array(found)


def agree(found: NDArray[np.float32], wanted: NDArray[np.float32]) -> None:
    """fp32: within 1e-3, and the same five best indices in 99.9 % of the events."""
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < 1e-3
    same = (np.argsort(-found)[:, :5] == np.argsort(-wanted)[:, :5]).all(axis=1)
    assert same.mean() >= 0.999


@pytest.mark.parametrize("kernels", ["best", "scalar"])
@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        ModelConfig(vocabulary=40, context=64, dim=64, layers=2, heads=1, hidden=96, query_key_norm=True),
        ModelConfig(vocabulary=61, context=100, dim=40, layers=2, heads=4, hidden=33, ordinal_heads=2, time_base=500.0),
        replace(SMALL, tied_apps=True),
        replace(SMALL, dim=40, heads=4, mixed_keys=True),
        replace(SMALL, pointing_heads=3),
        PURE,
    ],
)
def test_logits_across_hand_overs(tmp_path: Path, config: ModelConfig, kernels: str) -> None:
    model, events = sharp(config), person(5 * config.context // 2 + 17, 35)
    settings = Settings(cache="fp32", kernels=kernels)  # type: ignore[arg-type]
    agree(engine_logits(saved(model, tmp_path), events, settings), iswi_logits(model, events))


def test_ranking_is_that_of_the_torch_predictor(tmp_path: Path) -> None:
    model, events = sharp(SMALL), person(400, 30)
    ours, theirs = EngineModel(saved(model, tmp_path)).predictor(EXACT), Stap(model)
    for event in events:
        ours.observe(event)
        theirs.observe(event)
        found, wanted = ours.rank(5), theirs.rank(5)
        assert [app for app, _ in found] == [app for app, _ in wanted]
        assert [p for _, p in found] == pytest.approx([p for _, p in wanted], abs=1e-5)


@pytest.mark.parametrize("config", [SMALL, replace(SMALL, ordinal_heads=1), PURE])
def test_more_apps_than_indices(tmp_path: Path, config: ModelConfig) -> None:
    """A recycled index: the old app's events are hidden in both caches, in the engine and in torch alike."""
    config = replace(config, vocabulary=8, context=64)
    model, events = sharp(config), person(400, 14, seed=2)
    ours, theirs = EngineModel(saved(model, tmp_path)).predictor(EXACT), Stap(model)
    for event in events:
        ours.observe(event)
        theirs.observe(event)
        found, wanted = ours.rank(5), theirs.rank(5)
        assert [app for app, _ in found] == [app for app, _ in wanted]
        assert [p for _, p in found] == pytest.approx([p for _, p in wanted], abs=1e-5)
    assert ours.info()["forgotten"] > 50


@pytest.mark.parametrize(("weights", "cache", "most"), [("fp16", "fp16", 0.02), ("int8", "int8", 0.3)])
def test_smaller_numbers_stay_close(tmp_path: Path, weights: str, cache: str, most: float) -> None:
    model, events = sharp(SMALL), person(300, 35)
    found = engine_logits(saved(model, tmp_path), events, Settings(cache=cache), weights)  # type: ignore[arg-type]
    wanted = iswi_logits(model, events)
    assert 0 < np.abs(found - wanted).max() < most * wanted.std()


@pytest.mark.slow
@pytest.mark.parametrize("source", ["random", "demo", "real"])
def test_twenty_thousand_events(tmp_path: Path, source: str) -> None:
    """Long enough for dozens of hand-overs; the real log is taken where it is present."""
    config = ModelConfig(context=512, dim=128, layers=4, heads=4, hidden=256, query_key_norm=True)
    if source == "random":
        events = person(20_000, 180)
    else:
        table = read([LOG if source == "demo" else str(shared_log("ubiqlog/app_sessions.csv.gz"))]).table
        corpus = merged(table)
        sizes = corpus.offsets[1:] - corpus.offsets[:-1]
        fitting = np.where(corpus.app_counts <= config.vocabulary, sizes, 0)
        user = int(fitting.argmax())
        events = [event for pair in corpus.events(user) for event in pair][:20_000]
    model = sharp(config)
    agree(engine_logits(saved(model, tmp_path), events, EXACT), iswi_logits(model, events))


@pytest.mark.slow
def test_paper_sizes(tmp_path: Path) -> None:
    """d = 256, 8 layers, L = 4096: caches change places at events 4096 and 6144."""
    model, events = sharp(ModelConfig()), person(6400, 180)
    agree(engine_logits(saved(model, tmp_path), events, EXACT), iswi_logits(model, events))
