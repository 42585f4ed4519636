"""Experts mixed in the log domain, with weights that a person's own choices correct."""

from __future__ import annotations

import numpy as np

from stap.events import Floats

PLACES = 4  # how many of the latest apps have a bias of their own
WEIGHT_RATE = 0.0015
BIAS_RATE = 0.03
FLOOR = 1e-9  # no app is impossible


class Mixer:
    """p = softmax(weights . log experts + a bias for the latest apps); every choice is a step up its log likelihood.

    The weights start where people are on average and move slowly. The biases start at 0 and move fast: how readily one
    goes back to the app before is what people differ in most. They come in sets; a prediction adds those that hold.
    """

    def __init__(self, weights: Floats, bias_sets: int) -> None:
        self.weights = weights.copy()
        self.biases = np.zeros((bias_sets, PLACES))

    def predict(self, experts: Floats, latest: list[int], current: int, sets: list[int]) -> Floats:
        """experts: (experts, apps) log shares, each row up to a constant; latest: up to PLACES codes, latest first."""
        self._experts, self._latest, self._sets = experts, latest, sets
        self._probability = self.mix(experts, latest, current, sets)
        return self._probability

    def mix(self, experts: Floats, latest: list[int], current: int, sets: list[int]) -> Floats:
        """As `predict`, of which nothing is learned."""
        score = self.weights @ experts
        score[latest] += self.biases[sets, : len(latest)].sum(axis=0)
        score[current] = -np.inf
        probability: Floats = np.exp(score - score.max()) + FLOOR
        probability[current] = 0.0
        probability /= probability.sum()
        return probability

    def learn(self, chosen: int) -> None:
        """Correct the last prediction by what was chosen."""
        probability, experts, latest = self._probability, self._experts, self._latest
        self.weights += WEIGHT_RATE * (experts[:, chosen] - experts @ probability)
        surprise = -probability[latest]
        if chosen in latest:
            surprise[latest.index(chosen)] += 1.0
        for number in self._sets:
            self.biases[number, : len(latest)] += BIAS_RATE * surprise
