"""The pointing head: looks back over the openings so far and points at their apps.

    share(app) = how much of a head's attention lies on the app's openings
    logit(app) += sum over heads of gate(state) * log(1 + share(app) / floor)

A head that names apps by their vectors has to say a sum of vectors, and what it says is blurred by all that are not
quite at right angles. Pointing says which app without naming it, and the logarithm makes weak and strong hints count
alike. Attention fades with every usage since, may be on nothing at all, and never is on the current app, which is never
next. A key has a share of the key before it, so an opening can be found by what came before it.

Shapes: B windows, n events, P heads, D values a head, U openings so far, K apps among them, V virtual indices.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.events import OPEN
from stap.model.config import ModelConfig
from stap.phi import UNUSED

RECENT = (1.5, 0.1, 0.01)  # how fast a head fades that begins with what was used last, or most
FOLLOWED = (0.003, 0.03, 0.3)  # of one that begins with what followed the current app


class Trail:
    """The openings of one sequence so far: their keys and apps."""

    def __init__(self, config: ModelConfig, capacity: int) -> None:
        self.keys = torch.zeros(1, config.pointing_heads, capacity, config.head_dim)
        self.app = torch.full((1, capacity), UNUSED, dtype=torch.int64)
        self.last = torch.zeros(1, 1, config.pointing_heads, config.head_dim)  # the last event's key, before mixing
        self.length = 0

    def append(self, keys: Tensor, app: Tensor) -> tuple[Tensor, Tensor]:
        """Store new openings (1, P, u, D), (1, u); all of them so far come back."""
        here = slice(self.length, self.length + app.shape[1])
        self.keys[:, :, here], self.app[:, here] = keys, app
        self.length = here.stop
        return self.keys[:, :, : self.length], self.app[:, : self.length]

    def forget(self, index: int) -> None:
        self.app[self.app == index] = UNUSED

    def clear(self) -> None:
        self.length = 0
        self.last = torch.zeros_like(self.last)


class Pointing(nn.Module):
    """Half of the heads begin with what was used last or most, half with what followed the current app."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        heads, self.size, self.vocabulary = config.pointing_heads, config.head_dim, config.vocabulary
        self.eps = config.norm_eps
        self.qk = nn.Linear(config.dim, 2 * heads * self.size, bias=False)
        self.key_before = nn.Parameter(torch.ones(heads * self.size))
        finding = [head >= heads // 2 for head in range(heads)]  # by what came before
        pace = [(FOLLOWED if finds else RECENT)[head % 3] for head, finds in enumerate(finding)]
        self.fade = nn.Parameter(torch.tensor(pace).log())  # of the score a usage, as a logarithm
        self.nothing = nn.Parameter(torch.where(torch.tensor(finding), 1.0, -4.0))  # the score of no opening
        self.floor = nn.Parameter(torch.full((heads,), -6.0))  # as a logarithm
        self.sharpness = nn.Parameter(torch.full((heads,), math.log(2.0)))  # of the scores, as a logarithm
        self.gate = nn.Linear(config.dim, heads)
        nn.init.zeros_(self.gate.weight)
        nn.init.constant_(self.gate.bias, 1.2 / heads)
        with torch.no_grad():
            both = self.qk.weight.view(2, heads, self.size, config.dim)
            for head, finds in enumerate(finding):
                both[:, head] *= 0.3
                if finds:  # whatever a state is, a query finds its like
                    nn.init.orthogonal_(both[0, head])
                    both[1, head] = both[0, head]

    def forward(self, hidden: Tensor, app: Tensor, action: Tensor, trail: Trail | None = None) -> Tensor:
        """(B, n, d) states, (B, n) each -> what the logits gain, (B, n, V). All windows open and close in step."""
        b, n, _ = hidden.shape
        query, key = self.qk(hidden).float().view(b, n, 2, -1, self.size).unbind(2)  # (B, n, P, D) each
        first = torch.zeros_like(key[:, :1]) if trail is None else trail.last
        mixed = key + self.key_before.view(-1, self.size) * torch.cat([first, key[:, :-1]], dim=1)
        opens = action[0] == OPEN
        keys, pointed = self._norm(mixed[:, opens]).transpose(1, 2), app[:, opens]  # (B, P, U, D), (B, U)
        if trail is not None:
            trail.last = key[:, -1:]
            keys, pointed = trail.append(keys, pointed)
        share = self._shares(self._norm(query).transpose(1, 2), keys, pointed, app, opens)
        gate = self.gate(hidden)
        return torch.stack([self._said(*part) for part in zip(share, pointed, gate, strict=True)])

    def _norm(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (self.size,), eps=self.eps)

    def _shares(self, query: Tensor, keys: Tensor, pointed: Tensor, app: Tensor, opens: Tensor) -> Tensor:
        """Of every head's attention, how much is on each opening: (B, P, n, U)."""
        past = keys.shape[2] - int(opens.sum())
        ago = past + opens.cumsum(0)[:, None] - 1 - torch.arange(keys.shape[2], device=app.device)  # (n, U) usages
        score = query @ keys.transpose(2, 3) * (self.sharpness.exp()[:, None, None] * self.size**-0.5)
        score = score - ago.clamp(min=0) * self.fade.exp()[:, None, None]
        hidden = (ago < 0) | (pointed[:, None] == app[:, :, None]) | (pointed[:, None] == UNUSED)  # (B, n, U)
        score = score.masked_fill(hidden[:, None], -torch.inf)
        nothing = self.nothing.view(1, -1, 1, 1).expand(*score.shape[:3], 1)
        return torch.cat([score, nothing], dim=-1).softmax(-1)[..., :-1]

    def _said(self, share: Tensor, pointed: Tensor, gate: Tensor) -> Tensor:
        """One window: shares (P, n, U) of openings (U,), gates (n, P) -> (n, V)."""
        apps, which = torch.unique(pointed.clamp(min=0), return_inverse=True)  # one that is hidden has no share
        of_app = share @ F.one_hot(which, len(apps)).to(share.dtype)  # (P, n, K)
        hints = torch.log1p(of_app * (-self.floor).exp()[:, None, None])
        said = torch.einsum("pnk,np->nk", hints, gate.to(hints.dtype))
        return said.new_zeros(len(said), self.vocabulary).index_copy(1, apps, said)
