"""Loss and metrics on the validation people: what the best checkpoint is chosen by."""

from __future__ import annotations

import numpy as np

from stap.events import Corpus
from stap.metrics import NAMES, gains
from stap.model.score import ranks
from stap.model.transformer import Transformer
from stap.train.distributed import World
from stap.windows import cut


def validate(model: Transformer, corpus: Corpus, seed: int, world: World) -> dict[str, float]:
    """Mean loss, HR@k and MRR@k (percent) over all labelled events; every process takes its share of the windows."""
    windows = cut(corpus, model.config.context)
    sums = np.zeros(2 + len(NAMES))
    mine = np.arange(len(windows))[world.rank :: world.size]
    if len(mine):
        for _, loss, _, rank in ranks(model, corpus, windows, mine, seed, world.device):
            sums += [loss, len(rank), *gains(rank).sum(axis=0)]
    loss, count, *total = world.total(sums.tolist())
    return {"loss": loss / count} | {name: 100 * value / count for name, value in zip(NAMES, total, strict=True)}
