"""What more apps than virtual indices cost: an invented person with 500 apps, and a model that is built, not trained.

The model has room for 512 apps; with 200, 100 or 50 of its indices the same weights have to recycle them, and nothing
else changes. Needs the extra train.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stap import terminal
from stap.engine import EngineModel, Settings
from stap.evaluate import report, stream
from stap.events import NO_LABEL, Corpus, Usages, tidy
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.phi import OnlinePhi
from stap.prior import corpus
from stap.prior.person import power_law
from stap.terminal import Tick, quiet
from stap.verdict import Figure, publish

APPS, USAGES, WEEK = 507, 6_000, 500
LIMITS = (512, 200, 100, 50)  # virtual indices


def person(seed: int = 1) -> Corpus:
    """Back to a recent app, on to this one's follower, or by taste, a power law that drifts weekly; 500 get used."""
    rng = np.random.default_rng(seed)
    shares, taste, follower = power_law(APPS, 0.7), rng.permutation(APPS), rng.permutation(APPS)
    apps = taste[:20].tolist()
    for step in range(4 * USAGES // 3):
        if step % WEEK == 0:
            some = rng.choice(APPS, APPS // 10, replace=False)
            taste[some] = taste[rng.permutation(some)]
        how, back = rng.random(), 1 + min(int(rng.geometric(0.2)), 19)
        apps.append(apps[-back] if how < 0.35 else follower[apps[-1]] if how < 0.7 else rng.choice(taste, p=shares))
    start = 29e6 + np.cumsum(rng.exponential(20, len(apps)))
    return corpus({"many apps": tidy(Usages(np.array(apps, np.int32), start, start + 1)).take(slice(USAGES))})


def build_model() -> Transformer:
    """Two layers that know two habits: what followed this app before, and what was used lately.

    An app is a random code of unit length. In the first layer one head is at work: it turns by index, and writes the
    app of the last close beside each open. In the second, one head looks for opens with the current app beside them,
    another takes all events but the current app's, the latest most. Codes are compared in those pairs of values that
    hardly turn in a year; in the others query and key are constant, so that a score falls with the logarithm of the
    distance.
    """
    config = ModelConfig(512, 2048, 576, layers=2, heads=3, hidden=1, time_base=1e11, ordinal_heads=1)
    model, d, size, half, code_size = Transformer(config).eval(), config.dim, config.head_dim, config.head_dim // 2, 80
    codes = torch.randn(config.vocabulary, code_size, generator=torch.Generator().manual_seed(0))
    codes /= codes.norm(dim=1, keepdim=True)
    own, before, answer = (slice(n * code_size, (n + 1) * code_size) for n in range(3))  # places in the residual stream
    constant, action = 3 * code_size, 3 * code_size + 1
    fast = half - code_size // 2  # pairs; the others are slow
    slow = torch.cat([torch.arange(fast, half), torch.arange(half + fast, size)])
    query, key, value = range(3)

    def part(layer: int, kind: int, head: int) -> Tensor:
        """(D, d) a view of the queries, keys or values of a head."""
        attention: Any = model.blocks[layer].attention
        rows: Tensor = attention.qkv.weight.view(3, config.heads, size, d)[kind, head]
        return rows

    def hand_on(layer: int, head: int, to: slice, share: float) -> None:
        part(layer, value, head)[:code_size, own] = torch.eye(code_size)
        attention: Any = model.blocks[layer].attention
        attention.out.weight[to, size * head : size * head + code_size] = share * torch.eye(code_size)

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.zero_()
        model.embed_app.weight[:, own] = codes
        model.embed_action.weight[:, action] = torch.tensor([1.0, -1.0])  # close, open
        model.fuse.weight[:, :d] = model.fuse.weight[:, d : 2 * d] = torch.eye(d)
        model.fuse.bias[constant] = 1
        for kind in (query, key):
            part(0, kind, 2)[:half, constant] = 0.2
            part(1, kind, 0)[:fast, constant] = 0.1
            part(1, kind, 1)[:fast, constant] = 0.2
        part(0, query, 2)[half - 1, constant] = part(0, key, 2)[half - 1, action] = 1.0  # closes only
        part(1, query, 0)[fast - 1, constant], part(1, key, 0)[fast - 1, action] = 1.0, -1.0  # opens only
        for head, there, sign in ((0, before, 1.0), (1, own, -1.0)):
            part(1, query, head)[slow, own] = torch.eye(code_size)
            part(1, key, head)[slow, there] = sign * torch.eye(code_size)
        hand_on(0, 2, before, 0.08)
        hand_on(1, 0, answer, 0.08)
        hand_on(1, 1, answer, 0.04)
        model.head.weight[:, answer] = 10 * codes
    return model


def out_of_reach(people: Corpus, limit: int) -> float:
    """Percent of the scores whose label was used before and has lost its index since: what no model can rank."""
    phi, seen, lost = OnlinePhi(limit), set(), 0
    for app, label in zip(people.app.tolist(), people.label.tolist(), strict=True):
        phi.use(str(app))
        seen.add(app)
        lost += label != NO_LABEL and label in seen and phi.get(str(label)) is None
    return 100 * lost / (len(people.app) - 1)


def measure(people: Corpus, limits: tuple[int, ...] = LIMITS, tick: Tick = quiet) -> dict[int, dict[str, float]]:
    """Hit rates of the engine as it ships (int8), by virtual indices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counting.safetensors"
        weights.save(build_model(), path)
        model = EngineModel(path, "int8")
    return {
        limit: report(stream(people, partial(model.predictor, Settings(app_limit=limit)), tick), "stream")["pooled"]
        | {"out of reach": out_of_reach(people, limit)}
        for limit in limits
    }


def run() -> dict[str, Any]:
    people = person()
    with terminal.progress("streaming", len(LIMITS) * len(people.app)) as tick:
        results = measure(people, LIMITS, tick)
    rows = [
        Figure(f"{limit} indices: {name}", figures[name], "%")
        for limit, figures in results.items()
        for name in ("HR@1", "HR@3", "HR@5", "out of reach")
    ]
    return publish(f"{people.app_counts[0]} apps, {results[LIMITS[0]]['n']:,} scores", rows)
