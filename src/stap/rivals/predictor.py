"""A trained rival as a predictor like the others: event by event, or a whole corpus at once with the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from stap.errors import BadInput
from stap.events import OPEN, Corpus, Event, Ints, Longs, Moment, Ranking, interleave
from stap.metrics import MISS
from stap.rivals.base import Rival, load
from stap.rivals.scene import Asked, List, Scene, Sight, hours, weekdays
from stap.terminal import Tick, quiet
from stap.windows import Windows

AT_ONCE = 512  # positions in a forward pass


@dataclass(frozen=True)
class Rivals:
    """Makes predictors of one trained rival for anybody; `allowed` says which apps may be the answer."""

    model: Rival
    allowed: List = "seen"

    @property
    def apps(self) -> tuple[str, ...]:
        """The fixed vocabulary."""
        return self.model.config.apps

    @cached_property
    def place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.apps)}

    def __call__(self) -> RivalPredictor:
        return self.of("")

    def of(self, user: str) -> RivalPredictor:
        return RivalPredictor(self, user)

    def with_list(self, allowed: List) -> Rivals:
        return replace(self, allowed=allowed)

    def rank_stream(self, corpus: Corpus, tick: Tick = quiet) -> Iterator[tuple[int, list[int]]]:
        """Everybody's whole history, each user as one window."""
        everybody = np.arange(len(corpus.users))
        windows = Windows(everybody, corpus.offsets[:-1], np.diff(corpus.offsets), 2)
        return self._ranks(corpus, windows, tick, np.full(len(everybody), MISS))

    def rank_windows(self, corpus: Corpus, windows: Windows, tick: Tick) -> Iterator[tuple[int, list[int]]]:
        """Window by window; an app that is not listed ties for the last place."""
        return self._ranks(corpus, windows, tick, corpus.app_counts)

    def _ranks(self, corpus: Corpus, windows: Windows, tick: Tick, unlisted: Longs) -> Iterator[tuple[int, list[int]]]:
        sight = Sight(corpus, self.model.config)
        for user, first, usages in zip(windows.user, windows.first, windows.usages, strict=True):
            row = np.arange(first, first + usages)
            row = row[sight.label[row] >= 0]
            if not len(row):
                continue
            both = np.repeat(row, 2)
            now = interleave(corpus.start[row], corpus.end[row])
            if self.model.config.sizes.told_hour:
                now = corpus.start[both + 1]
            asked = Asked(np.full(len(both), user), both, np.full(len(both), first), now)
            ranks = np.concatenate(
                [
                    self.rank(sight, asked.part(slice(low, low + AT_ONCE)), int(unlisted[user]))
                    for low in range(0, len(both), AT_ONCE)
                ]
            )
            tick(len(row))
            yield int(user), ranks.tolist()

    def rank(self, sight: Sight, asked: Asked, unlisted: int = MISS) -> Ints:
        """(n,) of each position's label among the listed apps, the current one left out."""
        scene = sight.scene(asked, self.allowed)
        score, v = self.scores(scene), len(self.apps)
        label = sight.label[asked.row]
        own = np.where(label < v, score[np.arange(len(label)), np.minimum(label, v - 1)], -np.inf)
        before = (score > own[:, None]).sum(axis=1)
        # Among equals the one that stands first in the vocabulary comes first, as in a stable sort.
        before += ((score == own[:, None]) & (np.arange(v) < label[:, None])).sum(axis=1)
        return np.where(np.isfinite(own), before + 1, unlisted).astype(np.int32)

    @torch.no_grad()
    def scores(self, scene: Scene) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        """(n, V), minus infinity for what may not be the answer: the current app, and apps that are not listed."""
        score: np.ndarray[tuple[int, int], np.dtype[np.float32]] = self.model(scene).numpy()
        score[~scene.listed.numpy()] = -np.inf
        current = scene.app[:, -1].numpy()
        inside = np.flatnonzero(current < len(self.apps))
        score[inside, current[inside]] = -np.inf
        return score


class RivalPredictor:
    """One person. Repeats are merged, as in training, so it never says that the same app comes again."""

    def __init__(self, maker: Rivals, user: str) -> None:
        self._maker, config = maker, maker.model.config
        self._person = {name: number for number, name in enumerate(config.users, 1)}.get(user, 0)
        self._count = np.zeros(len(config.apps) + 1)
        self._recent: list[tuple[int, str, float, float]] = []  # place, name, start, last event: of the last usages
        self._now = 0.0

    def observe(self, event: Event) -> None:
        self._now = event.minutes
        if self._recent and self._recent[-1][1] == event.app:
            place, name, start, _ = self._recent.pop()
            self._recent.append((place, name, start, event.minutes))
        elif event.action == OPEN:
            place = self._maker.place.get(event.app, len(self._maker.apps))
            self._count[place] += 1
            self._recent.append((place, event.app, event.minutes, event.minutes))
            del self._recent[: -self._maker.model.config.sizes.recent]

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        if not self._recent or k < 1:
            return []
        now = self._now if at is None or at.whenever else at.minutes
        score = self._maker.scores(self._scene(now))[0].astype(np.float64)
        best = [place for place in np.argsort(-score, kind="stable").tolist() if np.isfinite(score[place])]
        if not best:
            return []
        weight = np.exp(score - score[best[0]])
        share = weight / weight.sum()
        return [(self._maker.apps[place], float(share[place])) for place in best[:k]]

    def _scene(self, now: float) -> Scene:
        v, k = len(self._maker.apps), self._maker.model.config.sizes.recent
        missing = k - len(self._recent)
        place, _, start, end = zip(*self._recent, strict=True)
        began = np.array(start)
        clock = np.array([now])

        def column(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> torch.Tensor:
            padded = np.concatenate([np.zeros(missing), np.log1p(np.maximum(values, 0.0))])
            return torch.from_numpy(padded.astype(np.float32))[None]

        count = self._count[None, :-1]
        listed = count > 0 if self._maker.allowed == "seen" else np.ones_like(count, bool)
        return Scene(
            torch.tensor([[v + 1] * missing + list(place)]),
            column(now - began),
            column(np.minimum(np.array(end), now) - began),
            torch.tensor([[0] * missing + hours(began).tolist()]),
            torch.from_numpy(np.stack([hours(clock), weekdays(clock)], axis=1)),
            torch.tensor([self._person]),
            torch.from_numpy(np.log1p(count).astype(np.float32)),
            torch.from_numpy(listed),
        )


def maker(path: Path, kind: str, protocol: str) -> Rivals:
    """The rival in a file, which has to be of this kind. The paper's candidates are all apps that a person ever has."""
    model = load(path)
    if model.config.sizes.kind != kind:
        remedy = f"ask for --predictors {model.config.sizes.kind}, or give the model of another run"
        raise BadInput(str(path), f"a model of {model.config.sizes.kind}, not of {kind}", remedy)
    return Rivals(model, "installed" if protocol == "paper" else "seen")
