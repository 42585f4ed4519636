"""The evidence head: every app's statistics, weighed by a gate that sees the moment, beside the transformer's logit.

    score(app) = a * blend + b * logit + gate(state) . f + out . silu(W2 silu(W1 f + rank + U state))

f are the app's normalised statistics, the state is [the transformer's hidden state; the context values], and an app
that holds no virtual index has no logit. One more score stands for an app never seen before. Nothing depends on which
app is which, so the scores follow any renaming.

Shapes: N positions, K candidates, F statistics, C context values, W = config.evidence.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.model.config import ModelConfig
from stap.model.evidence import CONTEXT, RANKS, STATISTICS

CLIP = 5.0  # standard deviations: beyond what training saw, further makes no difference
CANDIDATES = 64  # the likeliest by the blend; for the others the blend speaks alone
LEAST = 1e-7  # a probability whose logarithm is taken


class Fusion(nn.Module):
    """Starts as the blend alone: every other part has zeros at its end."""

    statistic_mean: Tensor
    statistic_scale: Tensor
    context_mean: Tensor
    context_scale: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        statistics, context, width = len(STATISTICS), len(CONTEXT), config.evidence
        state = config.dim + context
        for name, size in (("statistic", statistics), ("context", context)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_scale", torch.ones(size))
        self.embed = nn.Linear(context, config.dim, bias=False)  # into the transformer's input
        self.gate = nn.Linear(state, statistics)
        self.statistics = nn.Linear(statistics, width)
        self.rank = nn.Embedding(RANKS, width)
        self.state = nn.Linear(state, width, bias=False)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, 1, bias=False)
        self.unseen = nn.Linear(state, 1)
        self.scale = nn.Parameter(torch.ones(2))  # of the blend's log probability, of the transformer's logit
        for end in (self.gate.weight, self.gate.bias, self.out.weight, self.unseen.weight):
            nn.init.zeros_(end)
        nn.init.constant_(self.unseen.bias, -3.0)

    def normal_context(self, context: Tensor) -> Tensor:
        return ((context - self.context_mean) * self.context_scale).clamp(-CLIP, CLIP)

    def forward(self, hidden: Tensor, context: Tensor, statistics: Tensor, rank: Tensor, logits: Tensor) -> Tensor:
        """(N, d), (N, C) normalised, (N, K, F), (N, K), (N, K) -> (N, K + 1): the last is a first-ever app's."""
        f = ((statistics - self.statistic_mean) * self.statistic_scale).clamp(-CLIP, CLIP)
        state = torch.cat([hidden, context], dim=-1)
        x = F.silu(self.statistics(f) + self.rank(rank.clamp(max=RANKS - 1)) + self.state(state)[:, None])
        x = F.silu(self.hidden(x))
        score = self.scale[0] * statistics[..., 0] + self.scale[1] * logits + self.out(x)[..., 0]
        score = score + (f @ self.gate(state)[..., None])[..., 0]
        return torch.cat([score, self.unseen(state)], dim=-1)
