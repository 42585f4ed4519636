"""STAP's transformer, top to bottom.

What is notable:
- an event is (virtual app, action, minutes, hour of day); the three embeddings are fused by one linear map
- rotary embedding by TIME: the angle is minutes * theta_k, so attention sees only how long ago an event was
- angles are computed in float64 from re-based minutes and reduced to one turn: exact for years-long logs
- pre-norm blocks with RMSNorm, causal attention and SwiGLU, no biases
- attention never builds an L x L matrix; windows are padded at the end only, so the causal mask is all it needs
- one class for training and inference: with a `Cache` it takes any number of new events and attends to the old ones
- under bf16 autocast the residual stream, the norms and the rotation stay in float32
- off by default (not in the paper): query-key RMSNorm, some heads that turn by the event's index, app vectors shared by
  input and head, keys that mix in the key before, the pointing head, and the evidence head

Shapes: B windows, L events, d = dim, H heads, D = d / H values a head, V virtual indices.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor, nn

from stap.model import attention
from stap.model.config import ORDINAL_BASE, ModelConfig
from stap.model.fusion import Fusion
from stap.model.pointing import Pointing, Trail


class Cache:
    """The rotated keys and the values of the events seen so far, for one sequence; times count from its first event."""

    def __init__(self, config: ModelConfig, capacity: int) -> None:
        shape = (config.layers, 1, config.heads, capacity, config.head_dim)
        self.keys, self.values = torch.zeros(shape), torch.zeros(shape)
        self.last = torch.zeros(config.layers, 1, 1, config.heads, config.head_dim)  # keys before mixing and rotation
        self.trail = Trail(config, capacity) if config.pointing_heads else None
        self.length = 0
        self.origin = 0.0  # minutes of the first event

    def clear(self) -> None:
        self.length = 0
        if self.trail is not None:
            self.trail.clear()

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store n new events' keys and values (1, H, n, D); all of the layer's so far come back."""
        end = self.length + key.shape[2]
        self.keys[layer, :, :, self.length : end] = key
        self.values[layer, :, :, self.length : end] = value
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]


def turns(minutes: Tensor, index: Tensor, config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Minutes since the origin (B, L) in float64, event indices (L,) -> cos and sin, (B, L, H or 1, D / 2) in float32.

    A year is half a million minutes, which float32 knows only to 0.03: at theta_0 = 1 that is 2 degrees. Hence float64
    until the angle is within one turn.
    """
    k = torch.arange(config.head_dim // 2, dtype=torch.float64, device=minutes.device)
    angle = minutes.double()[:, :, None] * config.time_base ** (-2 * k / config.head_dim)  # (B, L, D/2)
    angle = angle[:, :, None]
    if config.ordinal_heads:
        ordinal = index.double()[None, :, None, None] * ORDINAL_BASE ** (-2 * k / config.head_dim)  # (1, L, 1, D/2)
        by_time = angle.expand(-1, -1, config.heads - config.ordinal_heads, -1)
        angle = torch.cat([by_time, ordinal.expand(len(minutes), -1, config.ordinal_heads, -1)], dim=2)
    angle = torch.remainder(angle, 2 * math.pi).float()
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (B, L, H, D): the pair (x_k, x_{k + D/2}) turns by the k-th angle."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Attention(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attend: Callable[[Tensor, Tensor, Tensor], Tensor] = attention.causal
        self.qkv = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.out = nn.Linear(config.dim, config.dim, bias=False)
        self.query_norm: nn.Module = nn.Identity()
        self.key_norm: nn.Module = nn.Identity()
        self.key_before: nn.Parameter | None = None
        if config.mixed_keys:  # half of the heads begin as if they always looked for what came after
            share = torch.arange(config.heads) % 2 == 1
            self.key_before = nn.Parameter(share.float().repeat_interleave(config.head_dim))
        if config.query_key_norm:
            self.query_norm = nn.RMSNorm(config.head_dim, config.norm_eps)
            self.key_norm = nn.RMSNorm(config.head_dim, config.norm_eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, layer: int, cache: Cache | None) -> Tensor:
        b, n, d = x.shape
        query, key, value = self.qkv(x).view(b, n, 3, self.heads, -1).unbind(2)  # (B, L, H, D) each
        query = rotate(self.query_norm(query.float()), cos, sin).to(value.dtype).transpose(1, 2)  # (B, H, L, D)
        key = rotate(self.key_norm(self._mix_keys(key.float(), layer, cache)), cos, sin).to(value.dtype).transpose(1, 2)
        value = value.transpose(1, 2)
        if cache is not None:
            key, value = cache.append(layer, key, value)
        past = key.shape[2] - n
        if past:  # new events after old ones: row i sees all the old and the first i new
            mask = torch.ones(n, past + n, dtype=torch.bool).tril(past) if n > 1 else None
            y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        else:
            y = self.attend(query, key, value)
        out: Tensor = self.out(y.transpose(1, 2).reshape(b, n, d))
        return out

    def _mix_keys(self, key: Tensor, layer: int, cache: Cache | None) -> Tensor:
        """(B, L, H, D): each with its share of the one before; the first event has none before it."""
        if self.key_before is None:
            return key
        first = torch.zeros_like(key[:, :1]) if cache is None or not cache.length else cache.last[layer]
        before = torch.cat([first, key[:, :-1]], dim=1)
        if cache is not None:
            cache.last[layer] = key[:, -1:]
        return key + self.key_before.view(self.heads, -1) * before


class SwiGLU(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.dim, 2 * config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        y: Tensor = self.down(F.silu(gate) * up)
        return y


class Block(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.dim, config.norm_eps)
        self.attention = Attention(config)
        self.feedforward_norm = nn.RMSNorm(config.dim, config.norm_eps)
        self.feedforward = SwiGLU(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, layer: int, cache: Cache | None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin, layer, cache)
        y: Tensor = x + self.feedforward(self.feedforward_norm(x))
        return y


class TiedHead(nn.Linear):
    """Logits as products with the apps' own vectors, after one map (d, d)."""

    def __init__(self, config: ModelConfig, apps: nn.Embedding) -> None:
        super().__init__(config.dim, config.dim, bias=False)
        self._apps = (apps,)  # in a tuple: its weights are not the head's

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(super().forward(x), self._apps[0].weight)


class Transformer(nn.Module):
    """Events in, a logit for every virtual index out, at every event."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_app = nn.Embedding(config.vocabulary, config.dim)
        self.embed_action = nn.Embedding(2, config.dim)
        self.embed_hour = nn.Linear(2, config.dim)
        self.fuse = nn.Linear(3 * config.dim, config.dim)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.dim, config.norm_eps)
        self.head: nn.Linear = (
            TiedHead(config, self.embed_app)
            if config.tied_apps
            else nn.Linear(config.dim, config.vocabulary, bias=False)
        )
        self.pointing = Pointing(config) if config.pointing_heads else None
        self.evidence = Fusion(config) if config.evidence else None
        self.launch = Fusion(config, launches=True) if config.launches else None

    def forward(self, app: Tensor, action: Tensor, minutes: Tensor, hour: Tensor, cache: Cache | None = None) -> Tensor:
        """(B, L) each: app and action int64, minutes float64, hour float32 -> logits (B, L, V)."""
        return self.logits(self.states(self.embed(app, action, hour), minutes, cache), app, action, cache)

    def logits(self, hidden: Tensor, app: Tensor, action: Tensor, cache: Cache | None = None) -> Tensor:
        """What the heads say after each of these events: (B, L, V)."""
        named: Tensor = self.head(hidden)
        if self.pointing is None:
            return named
        said: Tensor = self.pointing(hidden, app, action, None if cache is None else cache.trail)
        return named + said

    def states(self, x: Tensor, minutes: Tensor, cache: Cache | None = None) -> Tensor:
        """Embedded events (B, L, d) -> what the head reads, (B, L, d)."""
        past = cache.length if cache is not None else 0
        if cache is not None and not past:
            cache.origin = float(minutes[0, 0])
        origin = minutes[:, :1] if cache is None else cache.origin
        index = torch.arange(past, past + x.shape[1], device=x.device)
        cos, sin = turns(minutes - origin, index, self.config)
        for layer, block in enumerate(self.blocks):
            x = block(x, cos, sin, layer, cache)
        if cache is not None:
            cache.length += x.shape[1]
        hidden: Tensor = self.norm(x)
        return hidden

    def embed(self, app: Tensor, action: Tensor, hour: Tensor, moment: Tensor | None = None) -> Tensor:
        """x = W_f [e_app; e_act; e_hour] + b_f, (B, L, d); with evidence, its normalised moments (B, L, C) are added.

        W_f acts on each part alone, so it is applied to the V + 2 table rows instead of to every event.
        """
        for_app, for_action, for_hour = self.fuse.weight.chunk(3, dim=1)  # (d, d) each
        angle = hour * (2 * math.pi / 24)
        circle = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (B, L, 2)
        constant = F.linear(self.embed_hour.bias, for_hour, self.fuse.bias)
        x = (  # in float32, also under autocast: the sum that every block adds to
            F.embedding(app, F.linear(self.embed_app.weight, for_app)).float()
            + F.embedding(action, F.linear(self.embed_action.weight, for_action))
            + F.linear(circle, for_hour @ self.embed_hour.weight, constant)
        )
        return x if self.evidence is None or moment is None else x + self.evidence.embed(moment)
