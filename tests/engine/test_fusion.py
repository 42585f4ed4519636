"""Models with an evidence head: the engine against PyTorch, equivariance, snapshots, more apps than indices."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from stap import prior
from stap.engine import EngineModel, Settings
from stap.evaluate import WindowRanker
from stap.events import Event
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.predictors.base import ForeseesUnseen
from stap.reference.session import Stap
from stap.registry import maker

from .reference import person, saved, sharp

ALONE = ModelConfig(
    vocabulary=60, context=64, dim=32, layers=2, heads=2, hidden=48, query_key_norm=True, ordinal_heads=1, evidence=40
)
FUSED = replace(ALONE, candidate_heads=3)  # every candidate is compared with the others


def fused(config: ModelConfig = FUSED, seed: int = 0) -> Transformer:
    """Random weights in every part of the head: nothing is left at the zeros it starts from."""
    model = sharp(config, seed)
    assert model.evidence is not None
    with torch.no_grad():
        for name, parameter in model.evidence.named_parameters():
            parameter.add_(torch.randn_like(parameter) * (0.1 if parameter.ndim > 1 else 0.3))
            if name == "scale":
                parameter.copy_(torch.tensor([0.9, 0.4]))
        model.evidence.statistic_mean.normal_(-2.0, 1.0)
        model.evidence.statistic_scale.uniform_(0.3, 1.0)
        model.evidence.context_mean.normal_()
        model.evidence.context_scale.uniform_(0.3, 1.0)
    return model


def synthetic(usages: int, index: int = 0) -> list[Event]:
    corpus = prior.people(1, seed=21, usages=(usages, usages + 1), first=index)
    return [event for pair in corpus.events(0) for event in pair]


@pytest.mark.parametrize("kernels", ["best", "scalar"])
@pytest.mark.parametrize(("config", "index"), [(FUSED, 0), (FUSED, 1), (ALONE, 0)])
def test_engine_is_pytorch(tmp_path: Path, kernels: str, config: ModelConfig, index: int) -> None:
    model, events = fused(config), synthetic(150, index)
    torch_path = Stap(model)
    engine = EngineModel(saved(model, tmp_path), "fp32").predictor(Settings(cache="fp32", kernels=kernels))  # type: ignore[arg-type]
    for event in events:
        torch_path.observe(event)
        engine.observe(event)
        wanted, found = torch_path.rank(300), engine.rank(300)
        assert {app for app, _ in wanted} == {app for app, _ in found}
        assert abs(engine.unseen() - torch_path.unseen()) < 2e-4
        shares = dict(found)
        assert all(abs(shares[app] - share) < 2e-4 for app, share in wanted)
        gaps = [a[1] - b[1] for a, b in pairwise(wanted[:6])]
        if gaps and min(gaps) > 4e-4:
            assert [app for app, _ in found[:5]] == [app for app, _ in wanted[:5]]


def test_past_the_indices_apps_are_ranked_by_evidence(tmp_path: Path) -> None:
    model, events = fused(), person(500, 150, seed=3)
    torch_path = Stap(model)
    engine = EngineModel(saved(model, tmp_path), "fp32").predictor(Settings(cache="fp32"))
    for event in events:
        torch_path.observe(event)
        engine.observe(event)
        engine.rank(1)  # caches take their events one by one, as in PyTorch
    names = {event.app for event in events}
    assert len(names) > FUSED.vocabulary
    found = engine.rank(1000)
    assert {app for app, _ in found} == names - {events[-1].app}
    wanted = dict(torch_path.rank(1000))
    assert all(abs(wanted[app] - share) < 5e-4 for app, share in found)


def test_probabilities_sum_to_one_with_the_unseen(tmp_path: Path) -> None:
    engine = EngineModel(saved(fused(), tmp_path)).predictor()
    assert engine.rank(5) == []
    for event in synthetic(60):
        engine.observe(event)
        shares = [share for _, share in engine.rank(1000)]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) + engine.unseen() == pytest.approx(1.0, abs=1e-5)
        assert event.app not in dict(engine.rank(1000))


def test_only_a_pure_model_takes_whole_windows(tmp_path: Path) -> None:
    """Evidence is kept event by event, so in the paper's protocol too such a model runs on the engine."""
    (tmp_path / "pure").mkdir()
    evident, pure = saved(fused(), tmp_path), saved(sharp(replace(ALONE, evidence=0)), tmp_path / "pure")
    assert isinstance(maker("stap", pure, protocol="paper"), WindowRanker)
    assert not isinstance(maker("stap", evident, protocol="paper"), WindowRanker)
    one, other = maker("stap", evident, protocol="paper")(), maker("stap", evident, protocol="paper")()
    one.observe(Event("mail", 1, 0.0, 0.0))
    assert isinstance(one, ForeseesUnseen)
    assert isinstance(other, ForeseesUnseen)
    assert other.rank(3) == []
    assert other.unseen() == 1.0


def test_renaming_the_apps_renames_the_ranking_and_no_more(tmp_path: Path) -> None:
    model = EngineModel(saved(fused(), tmp_path))
    plain, renamed = model.predictor(), model.predictor()
    for event in synthetic(120):
        plain.observe(event)
        renamed.observe(event._replace(app=event.app[::-1] + "~"))
        assert [(app[::-1] + "~", share) for app, share in plain.rank(50)] == renamed.rank(50)


def test_permuting_phi_with_its_embeddings_changes_nothing(tmp_path: Path) -> None:
    """A phi drawn otherwise is a model whose rows are permuted: to rounding, the same scores for every app."""
    model, events = fused(), synthetic(80)
    order = np.random.default_rng(1).permutation(FUSED.vocabulary)
    other = fused()
    with torch.no_grad():
        other.embed_app.weight.copy_(model.embed_app.weight[torch.from_numpy(order)])
        other.head.weight.copy_(model.head.weight[torch.from_numpy(order)])
    first, second = Stap(model), Stap(other)
    inverse = np.argsort(order).tolist()
    second._phi._free = [inverse[index] for index in first._phi._free]
    for event in events:
        first.observe(event)
        second.observe(event)
        for (app, share), (same, again) in zip(first.rank(5), second.rank(5), strict=True):
            assert app == same
            assert abs(share - again) < 1e-5


@pytest.mark.parametrize("cut", [1, 2, 31, 64, 65, 97, 150, 233])
def test_snapshots_keep_every_bit(tmp_path: Path, cut: int) -> None:
    model, events = EngineModel(saved(fused(), tmp_path), "int8"), synthetic(160, 1)
    going = model.predictor()
    for event in events[:cut]:
        going.observe(event)
    if cut % 2:
        going.rank(3)  # with and without an answer ready
    back = model.restore(going.snapshot())
    assert back.rank(9) == going.rank(9)
    for event in events[cut : cut + 120]:
        for predictor in (going, back):
            predictor.observe(event)
        assert back.rank(9) == going.rank(9)
        assert back.unseen() == going.unseen()
    assert back.snapshot() == going.snapshot()
