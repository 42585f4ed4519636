"""Every weight is moved by one optimiser, and Muon has the matrices between layers only."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import Parameter
from torch.optim import AdamW

from stap.model.transformer import Transformer
from stap.train import optimisers
from stap.train.muon import Muon, orthogonal

from .made import SHIPPED as TINY


def test_every_weight_has_one_optimiser() -> None:
    model = Transformer(TINY.model)
    moved = [p for one in optimisers.build(model, TINY) for group in one.param_groups for p in group["params"]]
    assert sorted(map(id, moved)) == sorted(map(id, model.parameters()))


def test_muon_moves_matrices_between_layers() -> None:
    model = Transformer(TINY.model)
    adamw, muon = optimisers.build(model, TINY)
    assert isinstance(adamw, AdamW)
    assert isinstance(muon, Muon)
    its = set(map(id, muon.param_groups[0]["params"]))
    assert {name for name, parameter in model.named_parameters() if id(parameter) in its} == {
        "blocks.0.attention.qkv.weight",
        "blocks.0.attention.out.weight",
        "blocks.0.feedforward.gate_up.weight",
        "blocks.0.feedforward.down.weight",
        "evidence.statistics.weight",
        "evidence.state.weight",
        "evidence.hidden.weight",
        "evidence.compare.qkv.weight",
        "evidence.compare.out.weight",
    }


def test_without_muon_adamw_moves_all() -> None:
    model = Transformer(TINY.model)
    (adamw,) = optimisers.build(model, replace(TINY, muon=0.0))
    assert len(adamw.param_groups[0]["params"]) == len(list(model.parameters()))


def test_muon_has_a_rate_of_its_own() -> None:
    """A step of an orthogonal gradient is that gradient's directions, each as long as the rate says."""
    model = Transformer(TINY.model)
    both = optimisers.build(model, replace(TINY, muon=4.0, muon_decay=0.0))
    optimisers.set_rate(both, 0.01, replace(TINY, muon=4.0))
    weight = model.evidence.hidden.weight  # type: ignore[union-attr]
    before = weight.detach().clone()
    weight.grad = torch.linalg.qr(torch.randn(weight.shape)).Q
    both[1].step()
    lengths = torch.linalg.svdvals(weight.detach() - before)
    assert torch.all((lengths > 0.04 * 0.6) & (lengths < 0.04 * 1.3))  # the iteration is a rough one
    assert both[0].param_groups[0]["lr"] == 0.01


@pytest.mark.parametrize("shape", [(24, 8), (8, 24), (16, 16)])
def test_orthogonal_keeps_the_directions(shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    matrix = torch.randn(shape)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    turned = left.T @ orthogonal(matrix) @ right.T
    assert torch.all((turned.diagonal() > 0.6) & (turned.diagonal() < 1.3))
    assert torch.allclose(turned, torch.diag(turned.diagonal()), atol=1e-4)


@pytest.mark.parametrize("shape", [(24, 8), (8, 24), (16, 16)])
def test_muon_steps_as_torch_does(shape: tuple[int, int]) -> None:
    torch.manual_seed(2)
    begin = torch.randn(shape)
    ours, theirs = Parameter(begin.clone()), Parameter(begin.clone())
    both = (Muon([ours], lr=0.02, weight_decay=0.2), torch.optim.Muon([theirs], lr=0.02, weight_decay=0.2))
    for _ in range(4):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for optimiser in both:
            optimiser.step()
    assert torch.dist(ours, theirs) < 0.02 * torch.dist(theirs, begin)  # it computes in bfloat16
