"""The evidence head: every app's statistics, weighed by a gate that sees the moment, beside the transformer's logit.

    x(app) = silu(W1 f + rank + U state)
    score(app) = a * blend + b * logit + gate(state) . f + out . silu(W2 x + compare(x, the others' x))

f are the app's normalised statistics, the state is [the transformer's hidden state; the moment], and an app
that holds no virtual index has no logit. `compare` is attention: what an app's evidence is worth depends on how strong
the others' is. One more score stands for an app never seen before. Nothing depends on which app is which, so the scores
follow any renaming.

The launch head is the same, asked at a moment: the current app is among the candidates, there are more statistics, and
the transformer is not heard (the state is the moment alone, there are no logits).

Shapes: N positions, K candidates, F statistics, C values of the moment, W = config.evidence.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.evidence import COMPARED, RANKS, counts
from stap.model.config import CANDIDATE_HEAD, ModelConfig

CLIP = 5.0  # standard deviations: beyond what training saw, further makes no difference
LEAST = 1e-7  # a probability whose logarithm is taken
NEVER = -1e4  # the score of a place where no candidate is


class Comparison(nn.Module):
    """Attention from every candidate to the likeliest ones; nothing, to begin with."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        inside = heads * CANDIDATE_HEAD
        self.qkv = nn.Linear(width, 3 * inside, bias=False)
        self.out = nn.Linear(inside, width, bias=False)
        nn.init.zeros_(self.out.weight)

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        """(N, K, W), (N, K) -> (N, K, W)."""
        query, key, value = (
            part.unflatten(-1, (-1, CANDIDATE_HEAD)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        mask = torch.where(present[:, None, None, :COMPARED], 0.0, NEVER)
        seen = F.scaled_dot_product_attention(query, key[:, :, :COMPARED], value[:, :, :COMPARED], attn_mask=mask)
        compared: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return compared


class Fusion(nn.Module):
    """Starts as the blend alone: every other part has zeros at its end."""

    statistic_mean: Tensor
    statistic_scale: Tensor
    context_mean: Tensor
    context_scale: Tensor

    def __init__(self, config: ModelConfig, launches: bool = False) -> None:
        super().__init__()
        statistics, values = counts(launches)
        dim, width = (0, config.launches) if launches else (config.dim, config.evidence)
        state = dim + values
        for name, size in (("statistic", statistics), ("context", values)):  # (as the file calls the moment)
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_scale", torch.ones(size))
        if dim:
            self.embed = nn.Linear(values, dim, bias=False)  # into the transformer's input
        self.gate = nn.Linear(state, statistics)
        self.statistics = nn.Linear(statistics, width)
        self.rank = nn.Embedding(RANKS, width)
        self.state = nn.Linear(state, width, bias=False)
        self.compare = Comparison(width, config.candidate_heads) if config.candidate_heads else None
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, 1, bias=False)
        self.unseen = nn.Linear(state, 1)
        self.scale = nn.Parameter(torch.ones(2))  # of the blend's log probability, of the transformer's logit
        for end in (self.gate.weight, self.gate.bias, self.out.weight, self.unseen.weight):
            nn.init.zeros_(end)
        nn.init.constant_(self.unseen.bias, -3.0)

    def normal_moment(self, moment: Tensor) -> Tensor:
        moment = moment[..., : len(self.context_mean)]
        return ((moment - self.context_mean) * self.context_scale).clamp(-CLIP, CLIP)

    def forward(
        self,
        hidden: Tensor | None,
        moment: Tensor,
        statistics: Tensor,
        rank: Tensor,
        logits: Tensor | None,
        present: Tensor,
    ) -> Tensor:
        """(N, d), (N, C) normalised, (N, K, F), three of (N, K) -> (N, K + 1): the last is a first-ever app's.

        The likeliest candidates by the blend come first. Hidden states and logits: None for the launch head.
        """
        statistics = statistics[..., : len(self.statistic_mean)]
        f = ((statistics - self.statistic_mean) * self.statistic_scale).clamp(-CLIP, CLIP)
        state = moment if hidden is None else torch.cat([hidden, moment], dim=-1)
        x = F.silu(self.statistics(f) + self.rank(rank.clamp(max=RANKS - 1)) + self.state(state)[:, None])
        x = F.silu(self.hidden(x) if self.compare is None else self.hidden(x) + self.compare(x, present))
        score = self.scale[0] * statistics[..., 0]
        if logits is not None:
            score = score + self.scale[1] * logits
        score = score + self.out(x)[..., 0]
        score = (score + (f @ self.gate(state)[..., None])[..., 0]).masked_fill(~present, NEVER)
        return torch.cat([score, self.unseen(state)], dim=-1)
