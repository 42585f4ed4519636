"""The last word on a launch: how much the model and the blend are believed, how readily one goes back, and follows
notifications.

It starts as the model alone, and every launch corrects it in small, bounded steps: a step up the log likelihood of what
was launched. So nobody is left behind a simple rule for long. The engine does the same, in last_word.cpp.
"""

from __future__ import annotations

import numpy as np

from stap.events import Floats
from stap.model.fusion import LEAST
from stap.reference.notices import Notices, Told

RATE = 0.0015
BIAS_RATE, BIAS_LAUNCHES, LEAST_BIAS_RATE = 0.1, 20.0, 0.01  # slower launch by launch: halved after so many
WEIGHT_BOUNDS, MOST_BIAS = (-0.5, 2.0), 3.0
PLACES = 4  # how many of the latest apps have a bias of their own


class LastWord:
    def __init__(self) -> None:
        self.weights: Floats = np.array([1.0, 0.0])  # of the model's log probability, of the blend's
        self.biases = np.zeros((2, PLACES))  # at once, after a pause
        self.launches = [0, 0]  # that these were learned from
        self.notices = Notices()

    def correct(self, model: Floats, blend: Floats, rank: Floats, paused: bool, told: Told) -> Floats:
        """(apps,) shares by the model and by the blend, ranks of recency -> (apps,) corrected shares."""
        score = self.weights @ _logs(model, blend)
        near = rank < PLACES
        score[near] += self.biases[int(paused), rank[near].astype(int)]
        score += self.notices.score(told)
        share: Floats = np.exp(score - score.max())
        share /= share.sum()
        return share

    def learn(self, model: Floats, blend: Floats, rank: Floats, paused: bool, told: Told, chosen: int) -> None:
        """The app at `chosen` was launched."""
        share, logs = self.correct(model, blend, rank, paused, told), _logs(model, blend)
        surprise = -share
        surprise[chosen] += 1.0
        near = rank < PLACES
        biases = self.biases[int(paused)]
        rate = max(LEAST_BIAS_RATE, BIAS_RATE / (1.0 + self.launches[int(paused)] / BIAS_LAUNCHES))
        self.launches[int(paused)] += 1
        biases[rank[near].astype(int)] += rate * surprise[near]
        np.clip(biases, -MOST_BIAS, MOST_BIAS, out=biases)
        self.weights = np.clip(self.weights + RATE * (logs @ surprise), *WEIGHT_BOUNDS)
        self.notices.learn(told, surprise)


def _logs(model: Floats, blend: Floats) -> Floats:
    return np.log(np.maximum([model, blend], LEAST))
