"""HR@k and MRR@k in percent, from ranks; ties count against the predictor; intervals by bootstrap over users.

And how far probabilities are to be believed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stap.events import Bools, Floats, Ints, Longs

CUTOFFS = (1, 3, 5)
DEEPEST = max(CUTOFFS)
MISS = np.iinfo(np.int32).max  # the rank of an app that is not in the list
NAMES = tuple(f"HR@{k}" for k in CUTOFFS) + tuple(f"MRR@{k}" for k in CUTOFFS if k > 1)


def gains(rank: Ints) -> Floats:
    """(n,) ranks from 1 -> (n, metrics): what each position adds to each metric, columns as in NAMES."""
    hits = [rank <= k for k in CUTOFFS]
    reciprocal = 1.0 / rank
    mrr = [np.where(hit, reciprocal, 0.0) for k, hit in zip(CUTOFFS, hits, strict=True) if k > 1]
    return np.stack([*hits, *mrr], axis=1).astype(np.float64)


def summary(rank: Ints) -> dict[str, float]:
    """{"n": ..., "HR@1": ..., ...} in percent; only n where nothing was scored."""
    if not len(rank):
        return {"n": 0}
    return {"n": len(rank), **dict(zip(NAMES, (100 * gains(rank).mean(axis=0)).tolist(), strict=True))}


def by_user(rank: Ints, user: Longs) -> dict[int, dict[str, float]]:
    """The summary of each user; positions stand user by user."""
    users, first = np.unique(user, return_index=True)
    return dict(zip(users.tolist(), map(summary, np.split(rank, first[1:])), strict=True))


def rank_of_label(scores: NDArray[np.floating], label: Ints, candidate: Bools) -> Ints:
    """(n, V) scores, (n,) labels, (n, V) candidates -> (n,) rank of the label; an equal score stands before it."""
    own = np.take_along_axis(scores, label[:, None].astype(np.int64), axis=1)
    rank: Ints = np.sum(candidate & (scores >= own), axis=1, dtype=np.int32)
    return rank


def intervals(rank: Ints, user: Longs, draws: int = 2000, seed: int = 0) -> dict[str, tuple[float, float]]:
    """95 % interval of each pooled metric had other people been sampled: users are drawn with replacement, whole.

    Empty for fewer than two users: one person says nothing about how people differ.
    """
    people, index = np.unique(user, return_inverse=True)
    if len(people) < 2:
        return {}
    count = np.bincount(index).astype(np.float64)
    total = np.stack([np.bincount(index, weights=column) for column in gains(rank).T], axis=1)  # (users, metrics)
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(people), np.full(len(people), 1 / len(people)), size=draws)  # (draws, users)
    pooled = 100 * (times @ total) / (times @ count)[:, None]
    low, high = np.percentile(pooled, [2.5, 97.5], axis=0)
    return dict(zip(NAMES, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def calibration_error(probability: Floats, came: Bools) -> float:
    """Expected calibration error in percent: how far what came is from what was foretold, in 15 bins of equal width."""
    place = np.minimum((probability * 15).astype(np.int64), 14)
    short = np.bincount(place, weights=came - probability)  # a bin's hits less those it foretold
    return 100 * float(np.abs(short).sum() / len(probability))
