"""Attention by blocks against the formula: values, gradients, and who must not matter to whom."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from stap.model import attention
from stap.model.attention import BLOCK, LONGEST, blocks, causal, whole

LENGTHS = [1, 2, 63, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 37, 4 * BLOCK]
Three = tuple[Tensor, Tensor, Tensor]


def textbook(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """softmax(q k / sqrt(D), the future masked) v, with the L x L matrix."""
    scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
    future = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -math.inf).softmax(3) @ value


def made(length: int, windows: int = 2, heads: int = 3, size: int = 8, spread: float = 2.0) -> Three:
    """As the model has them: queries and keys are transposed views, values a strided part of a larger tensor."""
    draw = torch.Generator().manual_seed(length)
    query, key = (torch.randn(windows, length, heads, size, generator=draw).transpose(1, 2) for _ in "qk")
    value = torch.randn(windows, length, 3, heads, size, generator=draw).unbind(2)[2].transpose(1, 2)
    return query * spread, key, value


def gradients(attend: object, inputs: Three, upstream: Tensor) -> tuple[Tensor, ...]:
    assert callable(attend)
    leaves = [x.detach().requires_grad_() for x in inputs]
    return torch.autograd.grad(attend(*leaves), leaves, upstream)


@pytest.mark.parametrize("length", LENGTHS)
def test_it_is_the_formula_and_so_are_its_gradients(length: int) -> None:
    inputs = made(length)
    exact: Three = tuple(x.double() for x in inputs)  # type: ignore[assignment]
    upstream = torch.randn(inputs[0].shape, generator=torch.Generator().manual_seed(9))
    torch.testing.assert_close(blocks(*inputs).double(), textbook(*exact), atol=3e-6, rtol=1e-5)
    for gradient, expected in zip(
        gradients(blocks, inputs, upstream), gradients(textbook, exact, upstream.double()), strict=True
    ):
        torch.testing.assert_close(gradient.double(), expected, atol=2e-5, rtol=1e-4)


def test_far_apart_scores_neither_overflow_nor_vanish() -> None:
    """Scores up to some thousand: e to that power is infinite in float32, and most other weights are 0."""
    inputs = made(200, spread=500.0)
    upstream = torch.ones(inputs[0].shape)
    torch.testing.assert_close(blocks(*inputs), whole(*inputs), atol=1e-3, rtol=1e-3)
    assert all(bool(x.isfinite().all()) for x in gradients(blocks, inputs, upstream))


def test_the_future_and_its_padding_do_not_matter() -> None:
    """Not even in the last bit: what comes after the block in which an event lies is never read."""
    inputs = made(3 * BLOCK)
    other: Three = tuple(x.clone() for x in inputs)  # type: ignore[assignment]
    for x in other:
        x[:, :, BLOCK + 5 :] = math.inf if x is other[0] else 1e4
    upstream = torch.zeros(inputs[0].shape)
    upstream[:, :, : BLOCK + 5] = 1.0
    seen = slice(BLOCK + 5)
    torch.testing.assert_close(blocks(*inputs)[:, :, seen], blocks(*other)[:, :, seen], atol=1e-6, rtol=0)
    for gradient in gradients(blocks, inputs, upstream):  # padding has no label: nothing comes back from it, nor to it
        assert not gradient[:, :, BLOCK + 5 :].any()
        assert gradient[:, :, seen].any()


def test_windows_of_a_batch_are_strangers() -> None:
    inputs = made(150, windows=3)
    alone = torch.cat([blocks(*(x[n : n + 1] for x in inputs)) for n in range(3)])
    torch.testing.assert_close(blocks(*inputs), alone, atol=0, rtol=0)


def test_it_holds_no_square_matrix() -> None:
    """What forward leaves for backward grows with L, not with its square."""
    kept: list[int] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x.numel())
        return x

    for length in (4 * BLOCK, 2 * LONGEST):  # in blocks, and by torch's kernel
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            causal(*(x.requires_grad_() for x in made(length, windows=1, heads=1)))
        assert 0 < max(kept) <= length * 8


@pytest.mark.parametrize(
    ("length", "dtype", "threads", "expected"),
    [
        (LONGEST, torch.float32, 1, "blocks"),
        (LONGEST, torch.float32, 2, "whole"),
        (LONGEST + 1, torch.float32, 1, "whole"),
        (64, torch.bfloat16, 1, "whole"),
    ],
)
def test_who_is_asked(
    monkeypatch: pytest.MonkeyPatch, length: int, dtype: torch.dtype, threads: int, expected: str
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    for name in ("blocks", "whole"):
        monkeypatch.setattr(attention, name, lambda *_, name=name: asked.append(name))
    causal(*(torch.empty(1, 1, length, 2, dtype=dtype) for _ in range(3)))
    assert asked == [expected]
