"""HR@k and MRR@k in percent, from ranks; ties count against the predictor; bootstrap over users: intervals, winners.

And how far probabilities are to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stap.events import Bools, Floats, Ints, Longs

CUTOFFS = (1, 3, 5)
DEEPEST = max(CUTOFFS)
MISS = np.iinfo(np.int32).max  # the rank of an app that is not in the list
DRAWN = 1 << 20  # people at once, when intervals are drawn: more are drawn in parts
NAMES = tuple(f"HR@{k}" for k in CUTOFFS) + tuple(f"MRR@{k}" for k in CUTOFFS if k > 1)


def gains(rank: Ints) -> Floats:
    """(n,) ranks from 1 -> (n, metrics): what each position adds to each metric, columns as in NAMES."""
    hits = [rank <= k for k in CUTOFFS]
    reciprocal = 1.0 / rank
    mrr = [np.where(hit, reciprocal, 0.0) for k, hit in zip(CUTOFFS, hits, strict=True) if k > 1]
    return np.stack([*hits, *mrr], axis=1).astype(np.float64)


def tally(rank: Ints) -> Longs:
    """(n,) ranks -> (DEEPEST + 1,) how often each came, the last for all beyond: everything that a metric asks.

    Whole numbers add up to the same whoever counted which part of them.
    """
    return np.bincount(np.minimum(rank, DEEPEST + 1), minlength=DEEPEST + 2)[1:]


def tally_users(rank: Ints, user: Longs, users: int) -> Longs:
    """(users, DEEPEST + 1) the same of every user."""
    place = user * (DEEPEST + 1) + np.minimum(rank, DEEPEST + 1) - 1
    return np.bincount(place, minlength=users * (DEEPEST + 1)).reshape(users, DEEPEST + 1)


_GAINS = gains(np.arange(1, DEEPEST + 2, dtype=np.int32)).T  # (metrics, DEEPEST + 1) of every rank


def percent(counts: Longs) -> Floats:
    """(..., DEEPEST + 1) tallies -> (..., metrics) in percent."""
    total = np.zeros((*counts.shape[:-1], len(NAMES)))
    for rank in range(DEEPEST + 1):  # one after the other: the same bits whatever the shape
        total += counts[..., rank, None] * _GAINS[:, rank]
    mean: Floats = total / counts.sum(axis=-1)[..., None]
    return 100 * mean


def summary_of(counts: Longs) -> dict[str, float]:
    """{"n": ..., "HR@1": ..., ...} in percent; only n where nothing was scored."""
    number = int(counts.sum())
    return {"n": number, **dict(zip(NAMES, percent(counts).tolist(), strict=True))} if number else {"n": 0}


def summary(rank: Ints) -> dict[str, float]:
    """The same of ranks."""
    return summary_of(tally(rank))


def by_user(rank: Ints, user: Longs) -> dict[int, dict[str, float]]:
    """The summary of each user who has any."""
    counts = tally_users(rank, user, int(user.max(initial=-1)) + 1)
    return {int(number): summary_of(counts[number]) for number in np.flatnonzero(counts.any(axis=1))}


def rank_of_label(scores: NDArray[np.floating], label: Ints, candidate: Bools) -> Ints:
    """(n, V) scores, (n,) labels, (n, V) candidates -> (n,) rank of the label; an equal score stands before it."""
    own = np.take_along_axis(scores, label[:, None].astype(np.int64), axis=1)
    rank: Ints = np.sum(candidate & (scores >= own), axis=1, dtype=np.int32)
    return rank


def intervals(rank: Ints, user: Longs, draws: int = 2000, seed: int = 0) -> dict[str, tuple[float, float]]:
    """95 % interval of each pooled metric had other people been sampled."""
    return intervals_of(tally_users(rank, user, int(user.max(initial=-1)) + 1), draws, seed)


def intervals_of(counts: Longs, draws: int = 2000, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The same of every user's tally: users are drawn with replacement, whole.

    Empty for fewer than two users: one person says nothing about how people differ.
    """
    counts = counts[counts.any(axis=1)]
    if len(counts) < 2:
        return {}
    pooled = np.concatenate([percent(times @ counts) for times in _draws(len(counts), draws, seed)])
    low, high = np.percentile(pooled, [2.5, 97.5], axis=0)
    return dict(zip(NAMES, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def _draws(users: int, draws: int, seed: int) -> Iterator[Longs]:
    """(draws, users) how often each is drawn, in parts; the same for the same number of users."""
    rng, most = np.random.default_rng(seed), max(1, DRAWN // users)
    for done in range(0, draws, most):
        yield rng.multinomial(users, np.full(users, 1 / users), size=min(most, draws - done))


class Difference(NamedTuple):
    """Points by which one predictor is ahead of another, and the 95 % interval had other people been sampled."""

    points: float
    low: float
    high: float

    @property
    def told_apart(self) -> bool:
        """Whether the test calls a winner."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """As a table says it; = where the test calls no winner."""
        sign = "" if self.told_apart else "= "
        return f"{sign}{self.points:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def paired(first: Longs, second: Longs, draws: int = 2000, seed: int = 0) -> dict[str, Difference]:
    """Bootstrap over users: both tallies (users, DEEPEST + 1) are of the same people, who are drawn together.

    Empty for fewer than two users.
    """
    if first.shape != second.shape or (first.sum(axis=1) != second.sum(axis=1)).any():
        raise ValueError("both have to be asked at the same positions")
    scored = first.any(axis=1)
    first, second = first[scored], second[scored]
    if len(first) < 2:
        return {}
    parts = _draws(len(first), draws, seed)
    drawn = np.concatenate([percent(times @ first) - percent(times @ second) for times in parts])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    points = percent(first.sum(axis=0)) - percent(second.sum(axis=0))
    rows = zip(points.tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: Difference(*row) for name, row in zip(NAMES, rows, strict=True)}


def calibration_error(probability: Floats, came: Bools) -> float:
    """Expected calibration error in percent: how far what came is from what was foretold, in 15 bins of equal width."""
    place = np.minimum((probability * 15).astype(np.int64), 14)
    short = np.bincount(place, weights=came - probability)  # a bin's hits less those it foretold
    return 100 * float(np.abs(short).sum() / len(probability))
