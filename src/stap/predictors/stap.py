"""STAP as a predictor: phi that grows online, two KV caches that take turns (ISWI), real names in and out.

Needs torch (extra `train`). The paper protocol goes through whole windows instead, many at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from stap.errors import BadInput
from stap.events import Corpus
from stap.iswi import plan
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.score import ranks
from stap.model.transformer import Cache, Transformer
from stap.predictors.base import Event, Ranking
from stap.shuffle import UNUSED, OnlinePhi
from stap.windows import Windows

CHUNK = 64  # a cache that need not answer takes its events so many at a time: far cheaper than one by one


class ForgetfulCache(Cache):
    """A cache whose events can be hidden: their keys and values stay, but nothing attends to them any more."""

    def __init__(self, config: ModelConfig, capacity: int) -> None:
        super().__init__(config, capacity)
        self.app = torch.empty(capacity, dtype=torch.int64)  # the virtual index of each event; UNUSED: hidden

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = super().append(layer, key, value)
        seen = self.app[: keys.shape[2]] != UNUSED
        return (keys, values) if seen.all() else (keys[:, :, seen], values[:, :, seen])


class Inference:
    """One of ISWI's two: a KV cache, and the events it has been given but not yet taken in."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._cache = ForgetfulCache(model.config, model.config.context)
        self._waiting: list[tuple[int, int, float, float]] = []
        self._logits = np.empty(0, np.float32)

    def receive(self, index: int, event: Event) -> None:
        self._waiting.append((index, event.action, event.minutes, event.hour))
        if len(self._waiting) == CHUNK:
            self._take_in()

    def predict(self) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """(V,) logits after the last event."""
        if self._waiting:
            self._take_in()
        return self._logits

    def clear(self) -> None:
        self._cache.clear()
        self._waiting.clear()

    def forget(self, index: int) -> None:
        """The index now means another app: what is known of the old one must not speak for it."""
        if self._waiting:
            self._take_in()
        past = self._cache.app[: self._cache.length]
        past[past == index] = UNUSED

    def _take_in(self) -> None:
        index, action, minutes, hour = zip(*self._waiting, strict=True)
        self._waiting.clear()
        self._cache.app[self._cache.length : self._cache.length + len(index)] = torch.tensor(index)
        with torch.inference_mode():
            logits = self._model(
                torch.tensor([index]),
                torch.tensor([action]),
                torch.tensor([minutes], dtype=torch.float64),
                torch.tensor([hour], dtype=torch.float32),
                self._cache,
            )
        self._logits = logits[0, -1].numpy()


class Stap:
    """One person's STAP. A cache counts time from its own first event, so years of history cost no precision.

    Past V apps a new one takes the index of the least recently used, whose old events are hidden in the caches. The
    engine does the same; events still waiting there (see its catch_up) are hidden before any other has seen them.
    """

    def __init__(self, model: Transformer, seed: int = 0) -> None:
        self._half = model.config.context // 2
        self._phi = OnlinePhi(model.config.vocabulary, seed)
        self._used = np.zeros(model.config.vocabulary, bool)
        self._inferences = (Inference(model), Inference(model))
        self._steps = 0
        self._active = 0
        self._full: int | None = None  # to be cleared before the next event

    def observe(self, event: Event) -> None:
        if self._full is not None:
            self._inferences[self._full].clear()
        step = plan(self._steps, self._half)
        index, loser = self._phi.use(event.app)
        if loser is not None:
            for inference in self._inferences:
                inference.forget(index)
        self._used[index] = True
        for number in step.receives:
            self._inferences[number].receive(index, event)
        self._steps, self._active, self._full = self._steps + 1, step.predicts, step.clears

    def rank(self, k: int) -> Ranking:
        """Softmax over V, restricted to the indices that phi uses, mapped back to names."""
        if not self._steps:
            return []
        used = np.flatnonzero(self._used)
        logits = self._inferences[self._active].predict()[used].astype(np.float64)
        share = np.exp(logits - logits.max())
        share /= share.sum()
        best = np.argsort(-share, kind="stable")[:k]
        return [(self._phi.invert(int(used[place])) or "", float(share[place])) for place in best]


@dataclass(frozen=True)
class StapMaker:
    """A fresh STAP for every person, over one copy of the weights."""

    model: Transformer

    def __call__(self) -> Stap:
        return Stap(self.model)

    def rank_windows(self, corpus: Corpus, windows: Windows, seed: int = 0) -> Iterator[tuple[int, list[int]]]:
        """The paper protocol, batched: each window's user, and the label's rank at each of its labelled events."""
        most, vocabulary = int(corpus.app_counts.max(initial=0)), self.model.config.vocabulary
        if most > vocabulary:
            raise BadInput("the model", f"it has room for {vocabulary} apps, a user has {most}", "train a larger one")
        found: dict[int, list[int]] = {}
        everything = np.arange(len(windows))
        for piece, _, scored, rank in ranks(self.model, corpus, windows, everything, seed, torch.device("cpu")):
            parts = np.split(rank, np.cumsum(scored.sum(axis=1))[:-1])
            found |= {int(window): part.tolist() for window, part in zip(piece, parts, strict=True)}
        for window, user in enumerate(windows.user.tolist()):
            yield user, found[window]


def load(path: Path) -> StapMaker:
    """The model in a file. On one thread: with a few events at a time a second one only waits."""
    torch.set_num_threads(1)
    return StapMaker(weights.load(path))
