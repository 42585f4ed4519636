"""The model against its formulas, and the properties that the paper rests on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from stap.model.config import ModelConfig
from stap.model.transformer import Cache, Transformer, turns

from . import reference

SMALL = ModelConfig(vocabulary=11, context=64, dim=24, layers=2, heads=3, hidden=20)
VARIANTS = {
    "paper": SMALL,
    "query_key_norm": replace(SMALL, query_key_norm=True),
    "ordinal": replace(SMALL, ordinal_heads=2),
    "both": replace(SMALL, query_key_norm=True, ordinal_heads=1),
}
YEARS = 3 * 525_600.0  # minutes


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest) -> Transformer:
    return made(VARIANTS[request.param])


def made(config: ModelConfig, seed: int = 0) -> Transformer:
    """Random weights, norms included, in float32."""
    torch.manual_seed(seed)
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.uniform_(0.5, 1.5)
    return model.eval()


def events(n: int, batch: int = 1, seed: int = 0, span: float = 3000.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    minutes = np.sort(rng.uniform(0, span, (batch, n)), axis=1)
    minutes -= minutes[:, :1]
    return (
        torch.from_numpy(rng.integers(0, 11, (batch, n))),
        torch.from_numpy(rng.integers(0, 2, (batch, n))),
        torch.from_numpy(minutes),
        torch.from_numpy(rng.uniform(0, 24, (batch, n)).astype(np.float32)),
    )


def test_it_has_the_papers_number_of_parameters() -> None:
    config = ModelConfig()
    shapes = {name: tuple(p.shape) for name, p in Transformer(config).named_parameters()}
    assert shapes == config.tensors()
    assert config.parameters() == sum(np.prod(shape) for shape in shapes.values()) == 5_547_776


@pytest.mark.parametrize("span", [3000.0, YEARS])
def test_it_computes_the_formulas(model: Transformer, span: float) -> None:
    weights = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    inputs = events(17, span=span)
    app, action, minutes, hour = (x[0].numpy() for x in inputs)
    expected = reference.logits(app, action, minutes, hour, weights, model.config)
    with torch.inference_mode():
        logits = model(*inputs)[0].numpy()
    np.testing.assert_allclose(logits, expected, atol=2e-5)


def test_the_future_does_not_matter(model: Transformer) -> None:
    inputs, other = events(30, seed=1), events(30, seed=2)
    mixed = [torch.cat([x[:, :13], y[:, 13:]], dim=1) for x, y in zip(inputs, other, strict=True)]
    with torch.inference_mode():
        torch.testing.assert_close(model(*inputs)[:, :13], model(*mixed)[:, :13], atol=1e-6, rtol=0)
        assert not torch.allclose(model(*inputs)[:, 13:], model(*mixed)[:, 13:], atol=1e-2)


@pytest.mark.parametrize("shift", [10_080.0, 29_000_000.0], ids=["a week", "since 1970"])
def test_only_time_differences_matter(model: Transformer, shift: float) -> None:
    app, action, minutes, hour = events(40)
    with torch.inference_mode():
        here, there = model(app, action, minutes, hour), model(app, action, minutes + shift, hour)
        wide = model(app, action, minutes * 1.5, hour)
    torch.testing.assert_close(here, there, atol=1e-5, rtol=0)
    if model.config.ordinal_heads < model.config.heads:
        assert not torch.allclose(here, wide, atol=1e-3)


def test_scores_depend_on_differences_even_without_rebasing() -> None:
    """The rotation itself, not only the re-basing: q(t) . k(s) is the same a week later."""
    query, key = torch.randn(2, SMALL.head_dim, generator=torch.Generator().manual_seed(0)).double()

    def score(t: float, s: float) -> float:
        cos, sin = (x[0, :, 0].double() for x in turns(torch.tensor([[t, s]]).double(), torch.arange(2), SMALL))
        a, b = torch.stack([query, key]).chunk(2, dim=1)
        turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=1)
        return float(turned[0] @ turned[1])

    assert score(1234.5, 200.25) == pytest.approx(score(1234.5 + 10_080, 200.25 + 10_080), abs=1e-5)
    assert score(1234.5, 200.25) != pytest.approx(score(1234.5, 201.25), abs=1e-3)


def test_angles_are_exact_years_after_the_first_event() -> None:
    """Five years in, a quarter of a second still turns the fastest pair by what it should."""
    minutes = torch.tensor([[0.0, 5 * 525_600.0, 5 * 525_600.0 + 1 / 240]], dtype=torch.float64)
    cos, sin = turns(minutes, torch.arange(3), SMALL)
    angle = torch.atan2(sin, cos)[0, :, 0, 0].double()
    assert float(angle[2] - angle[1]) == pytest.approx(1 / 240, abs=1e-6)


def test_permuting_phi_permutes_the_logits(model: Transformer) -> None:
    app, *rest = events(25)
    order = torch.randperm(11, generator=torch.Generator().manual_seed(3))  # index v becomes order[v]
    permuted = Transformer(model.config).eval()
    permuted.load_state_dict(model.state_dict())
    with torch.no_grad():
        permuted.embed_app.weight[order] = model.embed_app.weight
        permuted.head.weight[order] = model.head.weight
        torch.testing.assert_close(permuted(order[app], *rest)[..., order], model(app, *rest), atol=1e-6, rtol=0)


def test_padding_changes_nothing(model: Transformer) -> None:
    inputs = events(20)
    padded = [torch.cat([x, torch.zeros_like(x)], dim=1) for x in inputs]
    with torch.inference_mode():
        torch.testing.assert_close(model(*padded)[:, :20], model(*inputs), atol=1e-6, rtol=0)


def test_windows_in_a_batch_do_not_see_each_other(model: Transformer) -> None:
    inputs = events(20, batch=3)
    with torch.inference_mode():
        alone = torch.cat([model(*(x[n : n + 1] for x in inputs)) for n in range(3)])
        torch.testing.assert_close(model(*inputs), alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("cuts", [[1] * 24, [24], [10, 1, 13], [1, 23]], ids=str)
def test_a_cache_gives_what_the_whole_window_gives(model: Transformer, cuts: list[int]) -> None:
    """In any portions, years after 1970, and again after it was cleared."""
    cache = Cache(model.config, 24)
    app, action, minutes, hour = events(24)
    minutes = minutes + 2.9e7
    for _ in range(2):
        cache.clear()
        with torch.inference_mode():
            whole = model(app, action, minutes, hour)
            parts = [torch.split(x, cuts, dim=1) for x in (app, action, minutes, hour)]
            stepwise = torch.cat([model(*part, cache) for part in zip(*parts, strict=True)], dim=1)
        torch.testing.assert_close(stepwise, whole, atol=2e-6, rtol=0)
        app = (app + 1) % 11
