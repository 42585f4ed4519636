"""Causal attention of whole windows, in blocks of queries, for CPUs.

torch's CPU kernel takes the keys 512 at a time, so a window of 512 events pays for the whole square. Here a block of
queries meets only the keys up to its own end: 5/8 of the square at 512 events. Beyond `LONGEST` the kernel skips enough
by itself, and is the faster one. No L x L matrix is held: the backward pass computes each block's weights anew from the
logarithm of its sums. With several threads each of the many small products would wait for all of them, which on a busy
machine takes far longer than the products: blocks are for one thread a process. Powers are of 2, which torch computes
twice as fast as those of e.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 128  # queries
LONGEST = 1024  # events


def causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """(B, H, L, D) each: event i attends to events 0..i. By blocks where that is faster, else by torch's kernel."""
    suits = query.device.type == "cpu" and query.dtype == torch.float32 and 1 < query.shape[2] <= LONGEST
    in_blocks = suits and not torch.compiler.is_compiling() and torch.get_num_threads() == 1
    return (blocks if in_blocks else whole)(query, key, value)


def whole(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def blocks(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    out: Tensor = _Blocks.apply(query, key, value)  # type: ignore[no-untyped-call]
    return out


class _Blocks(torch.autograd.Function):
    """With z = log2 of a query's sum: weights P = 2^(S - z), and dS = P (dP - sum(dO O)); S is in powers of 2."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out, sums = torch.empty_like(query), query.new_empty(query.shape[:3])
        future = torch.ones(BLOCK, BLOCK, dtype=torch.bool, device=query.device).triu(1)
        for q, k, v, o, z in zip(query, key, value, out, sums, strict=True):  # a window: (H, L, D), z (H, L)
            for low, high in _bounds(q.shape[1]):
                n = high - low
                s = torch.bmm(q[:, low:high] * _exponent(q), k[:, :high].transpose(1, 2))  # (H, n, high)
                s[:, :, low:].masked_fill_(future[:n, :n], -math.inf)
                most = s.amax(2, keepdim=True)
                total = s.sub_(most).exp2_().sum(2, keepdim=True)
                o[:, low:high] = torch.bmm(s, v[:, :high]).div_(total)
                z[:, low:high] = total.log2_().add_(most)[:, :, 0]
        ctx.save_for_backward(query, key, value, out, sums)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Keys before queries here, (H, high, n): so only one of the five products reads a transposed matrix."""
        query, key, value, out, sums = ctx.saved_tensors
        scale = query.shape[3] ** -0.5
        gradients = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(value)
        rows = (-sums)[:, :, None], (grad * out).sum(3).neg_()[:, :, None]  # (B, H, 1, L) each
        for q, k, v, g, dq, dk, dv, z, e in zip(query, key, value, grad, *gradients, *rows, strict=True):
            for low, high in _bounds(q.shape[1]):
                here, past = slice(low, high), slice(high)
                s = torch.baddbmm(z[:, :, here], k[:, past], q[:, here].transpose(1, 2), alpha=_exponent(q))
                p = s.exp2_()
                p[:, low:].triu_()
                dv[:, past].baddbmm_(p, g[:, here])
                ds = p.mul_(torch.baddbmm(e[:, :, here], v[:, past], g[:, here].transpose(1, 2))).mul_(scale)
                dk[:, past].baddbmm_(ds, q[:, here])
                dq[:, here] = torch.bmm(ds.transpose(1, 2), k[:, past])
        return gradients


def _bounds(length: int) -> list[tuple[int, int]]:
    return [(low, min(length, low + BLOCK)) for low in range(0, length, BLOCK)]


def _exponent(query: Tensor) -> float:
    """What makes q . k the logarithm to base 2 of a weight: e^(q . k / sqrt(D)) = 2^(q . k * this)."""
    return math.log2(math.e) / math.sqrt(query.shape[-1])
