"""A model on whole windows, batched: its loss, and the rank of every label. The paper protocol rests on this."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from stap.events import NO_LABEL, Bools, Corpus, Ints, Longs
from stap.metrics import CUTOFFS, NAMES, rank_of_label
from stap.model.transformer import Transformer
from stap.phi import draw, invert
from stap.windows import Batch, Windows, encode, pieces, trimmed

TOKENS = 16_384  # events in one forward pass
OF_ALL = "HR@1 of V"  # among all virtual indices, not only those of the person's apps: chance is 1 / V
GAINED = (*NAMES, OF_ALL)
UNSEEN = 1 << 40  # an epoch that no training reaches: its phis are none that a model was trained on


def to_tensors(batch: Batch) -> tuple[tuple[Tensor, ...], Tensor]:
    """The model's inputs and the labels."""
    arrays = (batch.app.astype(np.int64), batch.action.astype(np.int64), batch.minutes, batch.hour)
    return tuple(map(torch.from_numpy, arrays)), torch.from_numpy(batch.label.astype(np.int64))


def summed_loss(logits: Tensor, label: Tensor) -> Tensor:
    """Cross-entropy summed over the events that have a label."""
    flat = logits.float().view(-1, logits.shape[-1])
    return F.cross_entropy(flat, label.view(-1), ignore_index=NO_LABEL, reduction="sum")


def summed_gains(logits: Tensor, label: Tensor, candidates: Tensor) -> Tensor:
    """What the labelled events add to each metric (as in GAINED), while training; candidates (B, V)."""
    scored = label != NO_LABEL
    scores, own = logits.detach()[scored], label[scored][:, None]
    above = scores >= scores.gather(1, own)  # an equal score stands before it, as everywhere
    rank = (above & candidates[scored.nonzero()[:, 0]]).sum(dim=1)
    hits = [rank <= k for k in CUTOFFS]
    mrr = [torch.where(hit, 1.0 / rank, 0.0) for k, hit in zip(CUTOFFS, hits, strict=True) if k > 1]
    return torch.stack([part.sum(dtype=torch.float64) for part in (*hits, *mrr, above.sum(dim=1) == 1)])


def ranks(
    model: Transformer,
    corpus: Corpus,
    windows: Windows,
    which: Longs,
    seed: int,
    device: torch.device,
    keys: NDArray[np.uint64] | None = None,
) -> Iterator[tuple[Longs, float, Bools, Ints, Bools]]:
    """For pieces of `which`: the windows, their summed loss, where labels are (n, L), each label's rank there, and
    whether it is the first of all V.

    Candidates are all apps of the user; an equal score counts against the model. phi is one never trained on, drawn
    from each window's key (its number, where there are none).
    """
    vocabulary = model.config.vocabulary
    which = which[np.argsort(-windows.usages[which], kind="stable")]
    for piece in pieces(windows, which, 0, 1, TOKENS):
        phi = draw(seed, UNSEEN, piece if keys is None else keys[piece], vocabulary)
        batch = encode(corpus, trimmed(windows, piece), piece, phi)
        inputs, label = to_tensors(batch)
        with torch.inference_mode():
            logits = model(*(tensor.to(device) for tensor in inputs))
            loss = float(summed_loss(logits, label.to(device)))
        scored = batch.label != NO_LABEL
        candidates = invert(phi, corpus.app_counts[windows.user[piece]]) >= 0  # (n, V)
        of_position = np.broadcast_to(candidates[:, None, :], (*scored.shape, vocabulary))[scored]
        scores, labels = logits.float().cpu().numpy()[scored], batch.label[scored]
        first = rank_of_label(scores, labels, np.ones_like(of_position)) == 1
        yield piece, loss, scored, rank_of_label(scores, labels, of_position), first
