"""The forward pass by the formulas of the paper, in plain numpy and float64: one window, no batching, no tricks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stap.model.config import ModelConfig

Array = NDArray[np.float64]
Weights = dict[str, Array]


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    out: Array = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight
    return out


def rotation(angles: Array) -> Array:
    """R_t as a matrix: value k and value k + D/2 turn by angle k."""
    half = len(angles)
    matrix = np.zeros((2 * half, 2 * half))
    for k, angle in enumerate(angles):
        matrix[k, k] = matrix[k + half, k + half] = np.cos(angle)
        matrix[k, k + half] = -np.sin(angle)
        matrix[k + half, k] = np.sin(angle)
    return matrix


def attend(x: Array, minutes: Array, w: Weights, block: str, c: ModelConfig) -> Array:
    d = c.head_dim
    w_query, w_key, w_value = np.split(w[block + "attention.qkv.weight"], 3)
    out = []
    for head in range(c.heads):
        rows = slice(head * d, (head + 1) * d)
        query, key, value = x @ w_query[rows].T, x @ w_key[rows].T, x @ w_value[rows].T
        if c.query_key_norm:
            query = rms_norm(query, w[block + "attention.query_norm.weight"], c.norm_eps)
            key = rms_norm(key, w[block + "attention.key_norm.weight"], c.norm_eps)
        by_index = head >= c.heads - c.ordinal_heads
        base, place = (10_000.0, np.arange(len(x))) if by_index else (c.time_base, minutes)
        theta = base ** (-2 * np.arange(d // 2) / d)
        query = np.stack([rotation(t * theta) @ q for t, q in zip(place, query, strict=True)])
        key = np.stack([rotation(t * theta) @ k for t, k in zip(place, key, strict=True)])
        mixed = np.zeros_like(value)
        for i in range(len(x)):
            scores = np.array([query[i] @ key[j] / np.sqrt(d) for j in range(i + 1)])
            share = np.exp(scores - scores.max())
            mixed[i] = (share / share.sum()) @ value[: i + 1]
        out.append(mixed)
    joined: Array = np.concatenate(out, axis=1) @ w[block + "attention.out.weight"].T
    return joined


def feed_forward(x: Array, w: Weights, block: str) -> Array:
    w_gate, w_up = np.split(w[block + "feedforward.gate_up.weight"], 2)
    gate = x @ w_gate.T
    y: Array = (gate / (1 + np.exp(-gate)) * (x @ w_up.T)) @ w[block + "feedforward.down.weight"].T
    return y


def logits(
    app: NDArray[np.int64], action: NDArray[np.int64], minutes: Array, hour: Array, w: Weights, c: ModelConfig
) -> Array:
    """(L,) each -> (L, V)."""
    circle = np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24)], axis=1)
    e_hour = circle @ w["embed_hour.weight"].T + w["embed_hour.bias"]
    joined = np.concatenate([w["embed_app.weight"][app], w["embed_action.weight"][action], e_hour], axis=1)
    x = joined @ w["fuse.weight"].T + w["fuse.bias"]
    for n in range(c.layers):
        block = f"blocks.{n}."
        x = x + attend(rms_norm(x, w[block + "attention_norm.weight"], c.norm_eps), minutes, w, block, c)
        x = x + feed_forward(rms_norm(x, w[block + "feedforward_norm.weight"], c.norm_eps), w, block)
    out: Array = rms_norm(x, w["norm.weight"], c.norm_eps) @ w["head.weight"].T
    return out
