"""Small worlds in which Bayes' rule over all bijections can be computed: how apps follow each other, known exactly.

Each is a Markov chain over n apps: P (n, n), rows sum to 1, and the first app is uniform. phi is one of n!
bijections from apps to indices; phi(x) = phi[x].
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from stap.events import Floats, Longs

KINDS = {
    "habits": "everybody goes where only they go",
    "habits, two alike": "two apps that nothing tells apart",
    "habits, weak": "nearly the same whatever came before",
    "no habits": "any other app, equally likely: no phi can be told from another",
}


def transitions(kind: str, apps: int, seed: int) -> Floats:
    """(n, n); nobody stays: a usage is followed by one of another app."""
    rng = np.random.default_rng([seed, apps])
    strength = {"habits, weak": 0.3, "no habits": 0.0}.get(kind, 1.5)
    weight = np.exp(strength * rng.normal(size=(apps, apps)))
    if kind == "habits, two alike":  # exchanging the first two changes nothing
        weight[:2, 2:] = weight[0, 2:]
        weight[2:, 0] = weight[2:, 1]
        weight[0, 1] = weight[1, 0]
    np.fill_diagonal(weight, 0.0)
    chances: Floats = weight / weight.sum(axis=1, keepdims=True)
    return chances


def walk(chances: Floats, length: int, rng: np.random.Generator) -> Longs:
    """(length,) apps."""
    chosen, cumulated = np.empty(length, np.int64), chances.cumsum(axis=1)
    chosen[0] = rng.integers(len(chances))
    for step, chance in enumerate(rng.random(length - 1), 1):
        chosen[step] = min(int(np.searchsorted(cumulated[chosen[step - 1]], chance, "right")), len(chances) - 1)
    return chosen


def bijections(apps: int) -> Longs:
    """(n!, n)"""
    return np.array(list(permutations(range(apps))), np.int64)


class Bayes:
    """Everything that can be said of the next index by who knows P but not phi, after each index in turn."""

    def __init__(self, chances: Floats) -> None:
        self.phis = bijections(len(chances))
        # (n!, n, n): what each phi makes of P, among indices.
        inverse = np.argsort(self.phis, axis=1)
        self.laws = chances[inverse[:, :, None], inverse[:, None, :]]
        self.log_weight = np.zeros(len(self.phis))
        self.last: int | None = None

    def observe(self, index: int) -> None:
        if self.last is not None:
            with np.errstate(divide="ignore"):
                self.log_weight += np.log(self.laws[:, self.last, index])
        self.last = index

    def posterior(self) -> Floats:
        """(n!,)"""
        weight: Floats = np.exp(self.log_weight - self.log_weight.max())
        weight /= weight.sum()
        return weight

    def predictive(self) -> Floats:
        """(n,) of the next index."""
        predicted: Floats = self.posterior() @ self.laws[:, self.last]
        return predicted
