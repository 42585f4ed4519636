"""The pointing head by its formula, worked out app by app in numpy; and what must not matter to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from stap.model.config import ModelConfig
from stap.model.pointing import Pointing, Trail

CONFIG = ModelConfig(vocabulary=9, context=32, dim=12, layers=1, heads=2, hidden=8, pointing_heads=3)
ACTION = torch.tensor([[1, 0, 1, 0, 1, 1, 0, 1, 0, 0]])  # the fourth usage has no close, the last one two
APP = torch.tensor([[4, 4, 2, 2, 4, 7, 7, 2, 2, 2]])


@pytest.fixture
def head() -> Pointing:
    torch.manual_seed(3)
    made = Pointing(CONFIG)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return made


@pytest.fixture
def hidden() -> Tensor:
    return torch.randn(1, 10, CONFIG.dim, generator=torch.Generator().manual_seed(1))


Values = NDArray[np.float64]


def unit(x: Values) -> Values:
    normed: Values = x / np.sqrt((x**2).mean() + CONFIG.norm_eps)
    return normed


def by_hand(head: Pointing, hidden: Values, event: int) -> Values:
    """After one event: every opening so far, one at a time."""
    w = {name: tensor.double().numpy() for name, tensor in head.state_dict().items()}
    said, size = np.zeros(CONFIG.vocabulary), CONFIG.head_dim
    rows = w["qk.weight"].reshape(2, CONFIG.pointing_heads, size, CONFIG.dim)
    app, action = APP[0].tolist(), ACTION[0].tolist()
    for p in range(CONFIG.pointing_heads):
        query = unit(rows[0, p] @ hidden[event])
        weight: dict[int, float] = {}
        nothing = np.exp(w["nothing"][p])
        for past in range(event + 1):
            if action[past] != 1 or app[past] == app[event]:
                continue
            key = rows[1, p] @ hidden[past]
            if past:
                key = key + w["key_before"].reshape(-1, size)[p] * (rows[1, p] @ hidden[past - 1])
            ago = sum(action[past + 1 : event + 1])
            score = np.exp(w["sharpness"][p]) * (query @ unit(key)) / np.sqrt(size) - ago * np.exp(w["fade"][p])
            weight[app[past]] = weight.get(app[past], 0.0) + np.exp(score)
        gate = w["gate.weight"][p] @ hidden[event] + w["gate.bias"][p]
        for each, own in weight.items():
            said[each] += gate * np.log1p(own / (sum(weight.values()) + nothing) / np.exp(w["floor"][p]))
    return said


def test_it_computes_the_formula(head: Pointing, hidden: Tensor) -> None:
    found = head(hidden, APP, ACTION)[0].detach().numpy()
    wanted = [by_hand(head, hidden[0].double().numpy(), event) for event in range(10)]
    assert np.abs(found - np.array(wanted)).max() < 1e-4
    assert np.abs(found[0]).max() == 0.0  # nothing to point at yet
    assert np.abs(found[4:]).max() > 0.5


@pytest.mark.parametrize("cuts", [[10], [1, 9], [4, 1, 5], [1] * 10])
def test_a_trail_gives_what_the_whole_window_gives(head: Pointing, hidden: Tensor, cuts: list[int]) -> None:
    trail, parts = Trail(CONFIG, 8), []
    for piece in zip(*(torch.split(x, cuts, dim=1) for x in (hidden, APP, ACTION)), strict=True):
        parts.append(head(*piece, trail))
    assert torch.allclose(torch.cat(parts, dim=1), head(hidden, APP, ACTION), atol=1e-5)
    assert trail.length == 5


def test_a_forgotten_app_is_not_pointed_at_and_others_do_not_change_places(head: Pointing, hidden: Tensor) -> None:
    trail = Trail(CONFIG, 8)
    head(hidden[:, :9], APP[:, :9], ACTION[:, :9], trail)
    before = head(hidden, APP, ACTION)[0, 9]
    assert before[4] != 0.0
    trail.forget(4)
    after = head(hidden[:, 9:], APP[:, 9:], ACTION[:, 9:], trail)[0, 0]
    assert after[4] == 0.0
    assert after[7] != 0.0


def test_who_is_which_does_not_matter(head: Pointing, hidden: Tensor) -> None:
    other = torch.randperm(CONFIG.vocabulary, generator=torch.Generator().manual_seed(0))
    found = head(hidden, other[APP], ACTION)
    assert torch.allclose(found[..., other], head(hidden, APP, ACTION), atol=1e-6)


def test_it_does_not_go_with_evidence() -> None:
    with pytest.raises(Exception, match="pointing_heads and evidence do not go together"):
        replace(CONFIG, evidence=8)
