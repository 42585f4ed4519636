"""STAP as a predictor: phi that grows online, two KV caches that take turns (ISWI), real names in and out.

Needs torch (extra `train`). The paper protocol goes through whole windows instead, many at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stap.errors import BadInput
from stap.events import OPEN, WHENEVER, Corpus, Event, Floats, Moment, Ranking
from stap.evidence import CANDIDATES
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.fusion import LEAST
from stap.model.score import ranks
from stap.model.transformer import Cache, Transformer
from stap.notices import Notice
from stap.phi import UNUSED, OnlinePhi, seed_of
from stap.reference.evidence import Evidence
from stap.reference.iswi import plan
from stap.reference.last_word import LastWord
from stap.reference.notices import Told
from stap.terminal import Tick
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
        self._waiting: list[tuple[int, int, float, float, NDArray[np.float32]]] = []
        self._hidden, self._logits = torch.empty(0), torch.empty(0)

    def receive(self, index: int, event: Event, moment: NDArray[np.float32]) -> None:
        self._waiting.append((index, event.action, event.minutes, event.hour, moment))
        if len(self._waiting) == CHUNK:
            self._take_in()

    def predict(self) -> tuple[Tensor, Tensor]:
        """After the last event: the hidden state (d,), and the logits (V,)."""
        if self._waiting:
            self._take_in()
        return self._hidden, self._logits

    def clear(self) -> None:
        self._cache.clear()
        self._waiting.clear()

    def forget(self, index: int) -> None:
        """The index now means another app: what is known of the old one must not speak for it."""
        if self._waiting:
            self._take_in()
        past = self._cache.app[: self._cache.length]
        past[past == index] = UNUSED
        if self._cache.trail is not None:
            self._cache.trail.forget(index)

    def _take_in(self) -> None:
        index, action, minutes, hour, moments = zip(*self._waiting, strict=True)
        self._waiting.clear()
        self._cache.app[self._cache.length : self._cache.length + len(index)] = torch.tensor(index)
        model = self._model
        with torch.inference_mode():
            moment = None
            if model.evidence is not None:
                moment = model.evidence.normal_moment(torch.from_numpy(np.stack(moments))[None])
            apps, actions = torch.tensor([index]), torch.tensor([action])
            x = model.embed(apps, actions, torch.tensor([hour], dtype=torch.float32), moment)
            states = model.states(x, torch.tensor([minutes], dtype=torch.float64), self._cache)
            self._hidden, self._logits = states[0, -1], model.logits(states, apps, actions, self._cache)[0, -1]


class Stap:
    """One person's STAP. A cache counts time from its own first event, so years of history cost no precision.

    Past V apps a new one takes the index of the least recently used, whose old events are hidden in the caches. The
    engine does the same.
    """

    def __init__(self, model: Transformer, seed: int = 0) -> None:
        self._model = model
        self._evidence = Evidence() if model.evidence is not None else None
        self._moment = np.empty(0, np.float32)  # after the last event
        self._half = model.config.context // 2
        self._phi = OnlinePhi(model.config.vocabulary, seed)
        self._used = np.zeros(model.config.vocabulary, bool)
        self._inferences = (Inference(model), Inference(model))
        self._steps = 0
        self._active = 0
        self._full: int | None = None  # to be cleared before the next event
        self._word = LastWord()
        self._front: int | None = None  # the index of the app that was opened, until it is closed
        self._orphaned = False  # the app in front was forgotten: its close will be nobody's

    def observe(self, event: Event) -> None:
        if event.action == OPEN:
            self._orphaned = False
        elif self._orphaned and self._phi.get(event.app) is None:
            return
        if self._evidence is not None and event.action == OPEN:
            self._learn_launch(self._evidence, event)
            self._word.notices.opened(event.app)
        if self._full is not None:
            self._inferences[self._full].clear()
        step = plan(self._steps, self._half)
        index, loser = self._phi.use(event.app)
        if loser is not None:
            for inference in self._inferences:
                inference.forget(index)
        self._used[index] = True
        self._front = index if event.action == OPEN else None
        if self._evidence is not None:
            self._evidence.observe(event)
            self._moment = self._evidence.moment().astype(np.float32)
        for number in step.receives:
            self._inferences[number].receive(index, event, self._moment)
        self._steps, self._active, self._full = self._steps + 1, step.predicts, step.clears

    def notified(self, notice: Notice) -> None:
        """Of the app in front it is no news."""
        if self._evidence is not None and not self._evidence.in_front(notice.app):
            self._word.notices.notified(notice)

    def forget(self, app: str) -> None:
        """One that was opened or notified. What followed its events has seen them, what comes will not."""
        index = self._phi.get(app)
        if index is not None:
            self._orphaned |= self._front == index
            self._used[self._phi.forget(app)] = False
            for inference in self._inferences:
                inference.forget(index)
        if self._evidence is not None and app in self._evidence.names:
            self._evidence.forget(app)
        self._word.notices.forget(app)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        """Softmax over V, restricted to the indices that phi uses, mapped back to names; or the evidence head's."""
        if not self._steps:
            return []
        with torch.inference_mode():
            hidden, logits = self._inferences[self._active].predict()
        if self._evidence is not None:
            return self._answer(self._evidence, hidden, logits, at)[0][:k]
        used = np.flatnonzero(self._used)
        share = _softmax(logits.numpy()[used].astype(np.float64))
        best = np.argsort(-share, kind="stable")[:k]
        return [(self._phi.invert(int(used[place])) or "", float(share[place])) for place in best]

    def unseen(self, at: Moment | None = None) -> float:
        """How likely an app never seen before comes next, or is launched then; 0 for a model without evidence."""
        if self._evidence is None:
            return 0.0
        if not self._steps:
            return 1.0
        with torch.inference_mode():
            return self._answer(self._evidence, *self._inferences[self._active].predict(), at)[1]

    def _answer(self, evidence: Evidence, hidden: Tensor, logits: Tensor, at: Moment | None) -> tuple[Ranking, float]:
        """Every app that may come with its probability, best first; and that of a first-ever app."""
        if not evidence.names:
            return [], 1.0
        order, share, unseen = self._fuse(evidence, hidden, logits, at)
        if at is not None:
            share = (1.0 - unseen) * self._word.correct(share / (1.0 - unseen), *self._beside(evidence, order, at))
        best = np.argsort(-share, kind="stable")
        return [(evidence.names[order[place]], float(share[place])) for place in best], unseen

    def _include_current(
        self, evidence: Evidence, at: Moment, order: list[int], share: NDArray[np.float64], unseen: float
    ) -> tuple[list[int], NDArray[np.float64], float]:
        """A ranking of other apps than the current one, which gets the share that the habit of returning gives it."""
        again = evidence.launch(at)[evidence.current]
        share = np.append(share * (1.0 - again), again)
        best = np.argsort(-share, kind="stable")
        codes = [*order, evidence.current]
        return [codes[place] for place in best], share[best], unseen * (1.0 - again)

    def _learn_launch(self, evidence: Evidence, event: Event) -> None:
        """Before a launch is taken in: what would have been said of it, and what that teaches the last word."""
        if event.app not in evidence.names or not evidence.is_launch(event):
            return
        at = Moment(event.minutes, event.hour)
        with torch.inference_mode():
            order, share, unseen = self._fuse(evidence, *self._inferences[self._active].predict(), at)
        chosen = order.index(evidence.names.index(event.app))
        self._word.learn(share / (1.0 - unseen), *self._beside(evidence, order, at), chosen)

    def _beside(self, evidence: Evidence, order: list[int], at: Moment) -> tuple[Floats, Floats, bool, Told]:
        """What the last word knows of the candidates besides the model's shares."""
        rank = np.array([evidence.recency(code) for code in order], float)
        told = self._word.notices.look([evidence.names[code] for code in order], evidence.seen(at), evidence.left)
        return evidence.launch(at)[order], rank, evidence.paused(at), told

    def _fuse(
        self, evidence: Evidence, hidden: Tensor, logits: Tensor, at: Moment | None
    ) -> tuple[list[int], NDArray[np.float64], float]:
        """Codes of the apps that may come, likeliest first by the model; their shares; that of a first-ever app."""
        fusion = self._model.evidence if at is None else self._model.launch
        if fusion is None:
            return self._include_current(evidence, at or WHENEVER, *self._fuse(evidence, hidden, logits, None))
        probability = evidence.probability() if at is None else evidence.launch(at)
        order = np.argsort(-probability, kind="stable").tolist()
        if at is None:
            order.remove(evidence.current)
        index = [self._phi.get(evidence.names[code]) for code in order]
        held = torch.tensor([0.0 if i is None else float(logits[i]) for i in index])[None]
        rank = torch.tensor([evidence.recency(code) for code in order], dtype=torch.int64)
        with torch.inference_mode():
            moment = fusion.normal_moment(torch.from_numpy(evidence.moment(at).astype(np.float32))[None])
            statistics = torch.from_numpy(evidence.statistics(at)[order].astype(np.float32))
            present = torch.ones(1, len(order), dtype=torch.bool)
            inputs = (statistics[None], rank[None], held if at is None else None, present)
            fused = fusion(hidden[None] if at is None else None, moment, *inputs)[0].double().numpy()
        score = fusion.scale[0].item() * np.log(np.maximum(probability[order], LEAST))
        score[:CANDIDATES] = fused[:-1][:CANDIDATES]
        share = _softmax(np.append(score, fused[-1]))
        best = np.argsort(-share[:-1], kind="stable")
        return [order[place] for place in best], share[:-1][best], float(share[-1])


def _softmax(score: NDArray[np.float64]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = np.exp(score - score.max())
    share /= share.sum()
    return share


@dataclass(frozen=True)
class StapMaker:
    """A fresh STAP for every person, over one copy of the weights."""

    model: Transformer
    seed: int = 0

    @property
    def sizes(self) -> tuple[int, int]:
        return self.model.config.vocabulary, self.model.config.context

    def __call__(self) -> Stap:
        return self.of("")

    def of(self, user: str) -> Stap:
        return Stap(self.model, seed_of(user, self.seed))

    def rank_windows(self, corpus: Corpus, windows: Windows, tick: Tick) -> Iterator[tuple[int, list[int]]]:
        """The paper protocol, batched: each window's user, and the label's rank at each of its labelled events."""
        most, vocabulary = int(corpus.app_counts.max(initial=0)), self.model.config.vocabulary
        if most > vocabulary:
            raise BadInput("the model", f"it has room for {vocabulary} apps, a user has {most}", "train a larger one")
        listed: dict[int, list[int]] = {}
        everything = np.arange(len(windows))
        seeds = np.array([seed_of(user, self.seed) for user in corpus.users], np.uint64)
        within = (windows.first - corpus.offsets[windows.user]).astype(np.uint64)
        keys = seeds[windows.user] + within  # a person's phi does not depend on who else is in the log
        for piece, _, scored, rank, _ in ranks(
            self.model, corpus, windows, everything, self.seed, torch.device("cpu"), keys
        ):
            parts = np.split(rank, np.cumsum(scored.sum(axis=1))[:-1])
            listed |= {int(window): part.tolist() for window, part in zip(piece, parts, strict=True)}
            tick(len(rank) // 2)
        for window, user in enumerate(windows.user.tolist()):
            yield user, listed[window]


def load(path: Path, seed: int = 0) -> StapMaker:
    """The model in a file. On one thread: with a few events at a time a second one only waits."""
    torch.set_num_threads(1)
    return StapMaker(weights.load(path), seed)
