"""Categories for apps of logs that have none: apps that come before and after the same apps are of one kind.

Counts of what follows what, in all people together, weighed against chance; their leading directions; k-means. No
meaning of a name is used, and the same log gives the same categories.
"""

from __future__ import annotations

import numpy as np

from stap.events import Floats, Longs

DIRECTIONS, ROUNDS = 16, 30


def categories(app: Longs, follower: Longs, apps: int, count: int, seed: int = 0) -> Longs:
    """(apps,) 0..count-1, from pairs of neighbours."""
    if apps <= count:
        return np.arange(apps)
    pairs = np.zeros((apps, apps))
    np.add.at(pairs, (app, follower), 1.0)
    share = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0, keepdims=True) / max(1.0, pairs.sum())
    above = np.log(np.maximum(pairs / np.maximum(share, 1e-9), 1.0))
    left, size, right = np.linalg.svd(above, full_matrices=False)
    scale = np.sqrt(size[:DIRECTIONS])
    return _groups(np.concatenate([left[:, :DIRECTIONS] * scale, right[:DIRECTIONS].T * scale], axis=1), count, seed)


def _groups(point: Floats, count: int, seed: int) -> Longs:
    """k-means from the seed."""
    centre = point[np.random.default_rng(seed).permutation(len(point))[:count]]
    nearest = np.zeros(len(point), np.int64)
    for _ in range(ROUNDS):
        distance = ((point[:, None] - centre[None]) ** 2).sum(axis=2)
        nearest = distance.argmin(axis=1)
        for group in np.unique(nearest):
            centre[group] = point[nearest == group].mean(axis=0)
    return nearest
