"""The evidence head's comparison: what candidates say of each other, whatever their order and their empty places."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from stap.errors import BadInput
from stap.evidence import COMPARED, RANKS, STATISTICS, counts
from stap.model.config import CANDIDATE_HEAD, ModelConfig
from stap.model.fusion import NEVER, Comparison, Fusion

CONFIG = ModelConfig(dim=8, heads=2, evidence=12, candidate_heads=2)


def head() -> Fusion:
    torch.manual_seed(0)
    fusion = Fusion(CONFIG)
    with torch.no_grad():
        for parameter in fusion.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return fusion


def candidates(n: int, k: int) -> dict[str, Tensor]:
    torch.manual_seed(1)
    return {
        "statistics": torch.randn(n, k, len(STATISTICS)),
        "rank": torch.randint(0, RANKS, (n, k)),
        "logits": torch.randn(n, k),
        "present": torch.ones(n, k, dtype=torch.bool),
    }


def scores(fusion: Fusion, of: dict[str, Tensor]) -> Tensor:
    torch.manual_seed(2)
    n = len(of["present"])
    scored: Tensor = fusion(torch.randn(n, CONFIG.dim), torch.randn(n, counts(False)[1]), **of)
    return scored.detach()


def test_scores_follow_the_candidates_in_any_order() -> None:
    fusion, given = head(), candidates(3, COMPARED)
    order = torch.randperm(COMPARED)
    turned = {name: values[:, order] for name, values in given.items()}
    assert torch.allclose(scores(fusion, turned)[:, :-1], scores(fusion, given)[:, order], atol=1e-5)


def test_an_empty_place_says_nothing() -> None:
    fusion, given = head(), candidates(2, 10)
    given["present"][:, 7:] = False
    other = {name: values.clone() for name, values in given.items()}
    other["statistics"][:, 7:] = 3.0
    first, second = scores(fusion, given), scores(fusion, other)
    assert torch.equal(first, second)
    assert torch.all(first[:, 7:10] == NEVER)
    fewer = {name: values[:, :7] for name, values in given.items()}
    assert torch.allclose(scores(fusion, fewer)[:, :7], first[:, :7], atol=1e-5)


def test_nobody_there_is_no_accident() -> None:
    given = candidates(2, 5)
    given["present"][0] = False
    scored = scores(head(), given)
    assert torch.all(torch.isfinite(scored))
    assert torch.all(scored[0, :-1] == NEVER)


def test_an_app_is_compared_with_the_likeliest_only() -> None:
    fusion, given = head(), candidates(1, COMPARED + 2)
    near = {name: values.clone() for name, values in given.items()}
    far = {name: values.clone() for name, values in given.items()}
    near["statistics"][0, COMPARED - 1] += 1.0
    far["statistics"][0, COMPARED] += 1.0
    before = scores(fusion, given)[0]
    assert not torch.equal(scores(fusion, near)[0, : COMPARED - 1], before[: COMPARED - 1])
    assert torch.equal(scores(fusion, far)[0, :COMPARED], before[:COMPARED])


def test_comparison_is_softmax_attention() -> None:
    """Against the formula, written out for every candidate and head with numpy."""
    torch.manual_seed(3)
    compare, x = Comparison(CONFIG.evidence, CONFIG.candidate_heads), torch.randn(1, 5, CONFIG.evidence)
    torch.nn.init.normal_(compare.out.weight)
    inside = CONFIG.candidate_heads * CANDIDATE_HEAD
    query, key, value = np.split(x[0].numpy() @ compare.qkv.weight.detach().numpy().T, [inside, 2 * inside], axis=1)
    mixed = np.zeros((5, inside))
    for h in range(CONFIG.candidate_heads):
        own = slice(h * CANDIDATE_HEAD, (h + 1) * CANDIDATE_HEAD)
        for i in range(5):
            weight = np.exp(key[:, own] @ query[i, own] / 4.0)  # the root of 16
            mixed[i, own] = weight / weight.sum() @ value[:, own]
    scored = compare(x, torch.ones(1, 5, dtype=torch.bool))[0].detach().numpy()
    assert np.allclose(scored, mixed @ compare.out.weight.detach().numpy().T, atol=1e-5)


def test_a_fresh_head_is_the_blend() -> None:
    fusion, given = Fusion(CONFIG), candidates(2, 6)
    given["logits"].zero_()
    assert torch.allclose(scores(fusion, given)[:, :-1], given["statistics"][..., 0])


@pytest.mark.parametrize(("evidence", "heads"), [(0, 1), (12, 17), (12, -1)])
def test_heads_that_cannot_be_are_refused(evidence: int, heads: int) -> None:
    with pytest.raises(BadInput, match="candidate_heads"):
        ModelConfig(evidence=evidence, candidate_heads=heads)
