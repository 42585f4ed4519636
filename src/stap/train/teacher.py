"""What a trained model says after every usage: soft labels for another one that learns from it.

A label is one app that came, and which one came is mostly chance; an answer is all that might have come, with how
likely each was. The teacher may know what its pupil will never be shown: the pupil learns to say it all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stap.engine import EngineModel
from stap.events import Corpus, Ints, Usages
from stap.train.tasks.tables import Asking, Random

MOST = 20  # apps of an answer


@dataclass(frozen=True)
class Answers:
    """After the close of n usages, of one person or of several end to end."""

    app: Ints  # (n, K) codes, likeliest first; -1 past the last
    share: NDArray[np.float32]  # (n, K) sums to 1, or to 0 where nothing was known yet

    def __len__(self) -> int:
        return len(self.app)


def join(answers: Sequence[Answers]) -> Answers:
    """End to end."""
    return Answers(np.concatenate([each.app for each in answers]), np.concatenate([each.share for each in answers]))


def silent(usages: Usages, rng: Random, asking: Asking) -> Answers:
    """Of a teacher who is not there."""
    return Answers(np.empty((len(usages.app), 0), np.int32), np.empty((len(usages.app), 0), np.float32))


class Teacher:
    def __init__(self, path: Path) -> None:
        self._model = EngineModel(path)

    def __call__(self, usages: Usages, rng: Random, asking: Asking) -> Answers:
        """One pass over one person's log; app codes are names enough."""
        count = int(usages.app.max()) + 1
        corpus = Corpus.of([("", tuple(map(str, range(count))), usages)])
        predictor = self._model.predictor()
        app, share = np.full((len(usages.app), MOST), -1, np.int32), np.zeros((len(usages.app), MOST), np.float32)
        for row, (opened, closed) in enumerate(corpus.events(0)):
            predictor.observe(opened)
            predictor.observe(closed)
            for place, (name, probability) in enumerate(predictor.rank(MOST)):
                app[row, place], share[row, place] = int(name), probability
        whole = share.sum(axis=1, keepdims=True)
        return Answers(app, np.divide(share, whole, out=share, where=whole > 0))
