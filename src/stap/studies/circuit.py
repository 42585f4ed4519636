"""Has a model learned to copy? Where its heads look, and whether what they pass on names the app they looked at.

Copying takes two things. A head has to look back at the last time this app was used, or at what came after it then; and
what it passes on has to come out of the model's last layer as that very app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from stap.events import Corpus
from stap.model.score import UNSEEN, to_tensors
from stap.model.transformer import Attention, Transformer
from stap.phi import draw
from stap.windows import cut, encode

WINDOWS = 16
FIGURES = ("looks at its last use", "looks at what followed", "names what it sees", "rank")


def probe(people: Corpus, vocabulary: int, context: int, seed: int = 0) -> Callable[[Transformer], dict[str, float]]:
    """The figures of a model, always on the same windows; each of the best head."""
    windows = cut(people, context)
    which = np.argsort(-windows.usages, kind="stable")[:WINDOWS]
    batch = encode(people, windows, which, draw(seed, UNSEEN, which, vocabulary))
    inputs, _ = to_tensors(batch)
    asked, last = _asked(batch.app, windows.usages[which])

    def figures(model: Transformer) -> dict[str, float]:
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        with torch.no_grad(), _seen(model) as weights:
            model(*(tensor.to(device) for tensor in inputs))
            looks = [_mass(each.cpu(), asked, last) for each in weights]
            named, rank = max(map(float, _named(model))), _rank(model)
        model.train(was_training)
        use, after = torch.stack(looks).flatten(0, 1).max(dim=0).values.tolist() if len(asked) else (0.0, 0.0)
        return dict(zip(FIGURES, (100 * use, 100 * after, 100 * named, rank), strict=True))

    return figures


def _asked(app: np.ndarray, usages: np.ndarray) -> tuple[Tensor, Tensor]:
    """(n, 2) window and event: closes of apps used before, something else having come in between; (n,) that open."""
    asked, last = [], []
    for window, count in enumerate(usages.tolist()):
        before: dict[int, int] = {}
        for usage, code in enumerate(app[window, 0 : 2 * count : 2].tolist()):
            if before.get(code, usage) + 1 < usage:
                asked.append((window, 2 * usage + 1))
                last.append(2 * before[code])
            before[code] = usage
    return torch.tensor(asked, dtype=torch.int64).reshape(-1, 2), torch.tensor(last, dtype=torch.int64)


def _layers(model: Transformer) -> list[Attention]:
    return [part for part in model.modules() if isinstance(part, Attention)]


@contextmanager
def _seen(model: Transformer) -> Iterator[list[Tensor]]:
    """While it runs: every layer's attention, (B, H, L, L)."""
    weights: list[Tensor] = []

    def spy(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        score = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        later = torch.ones(score.shape[-2:], dtype=torch.bool, device=score.device).triu(1)
        weights.append(score.masked_fill(later, -torch.inf).softmax(dim=-1))
        return weights[-1] @ value

    layers = _layers(model)
    own = [layer.attend for layer in layers]
    for layer in layers:
        layer.attend = spy
    try:
        yield weights
    finally:
        for layer, attend in zip(layers, own, strict=True):
            layer.attend = attend


def _mass(weights: Tensor, asked: Tensor, last: Tensor) -> Tensor:
    """(H, 2): the mean share of attention on the last use of the app, and on the usage after it."""
    rows = weights[asked[:, 0], :, asked[:, 1]]  # (n, H, L)
    at = [rows.gather(2, (last + step)[:, None, None].expand(-1, rows.shape[1], 1))[..., 0] for step in range(4)]
    return torch.stack([at[0] + at[1], at[2] + at[3]], dim=-1).mean(dim=0)


def _named(model: Transformer) -> Iterator[Tensor]:
    """Of every head: the share of apps that, passed on by it alone, score highest at their own name."""
    d, width = model.config.dim, model.config.head_dim
    app = model.embed_app.weight @ model.fuse.weight[:, :d].T  # (V, d), as it enters
    for layer in _layers(model):
        values, out = layer.qkv.weight[2 * d :], layer.out.weight
        for head in range(model.config.heads):
            part = slice(head * width, (head + 1) * width)
            scores = model.head(app @ values[part].T @ out[:, part].T)  # (V, V)
            yield (scores.argmax(dim=1) == torch.arange(len(scores), device=scores.device)).float().mean()


def _rank(model: Transformer) -> float:
    """How many directions the map from app vectors to logits really has: exp of the entropy of its singular values."""
    app = model.embed_app.weight @ model.fuse.weight[:, : model.config.dim].T
    values = torch.linalg.svdvals(model.head(app))
    share = values / values.sum()
    return float(torch.exp(-(share * share.clamp(min=1e-12).log()).sum()))
