"""HR, MRR, ties, intervals: worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from stap.metrics import MISS, intervals, paired, rank_of_label, summary


def test_ranks_to_percent() -> None:
    assert summary(np.array([1, 2, 4, MISS], np.int32)) == {
        "n": 4,
        "HR@1": 25.0,
        "HR@3": 50.0,
        "HR@5": 75.0,
        "MRR@3": pytest.approx(100 * (1 + 1 / 2) / 4),
        "MRR@5": pytest.approx(100 * (1 + 1 / 2 + 1 / 4) / 4),
    }
    assert summary(np.empty(0, np.int32)) == {"n": 0}


def test_a_tie_counts_against_the_predictor() -> None:
    scores = np.array([[0.5, 0.5, 0.1, 0.9]])
    everyone = np.ones((1, 4), bool)
    assert rank_of_label(scores, np.array([0], np.int32), everyone).tolist() == [3]
    assert rank_of_label(scores, np.array([3], np.int32), everyone).tolist() == [1]
    assert rank_of_label(scores, np.array([0], np.int32), np.array([[True, False, True, False]])).tolist() == [1]


def test_an_interval_is_over_users_not_positions() -> None:
    """Two users, always right and always wrong, a thousand positions each: nobody knows where the next user falls."""
    rank = np.repeat(np.array([1, MISS], np.int32), 1000)
    user = np.repeat(np.array([0, 1]), 1000)
    assert intervals(rank, user)["HR@1"] == (0.0, 100.0)
    assert intervals(rank[:1000], user[:1000]) == {}


def test_an_interval_covers_as_often_as_it_says() -> None:
    """Users' true rates are N(50, 10); the 95 % interval of 30 users should hold 50 in most of 60 experiments."""
    rng, held = np.random.default_rng(1), 0
    for experiment in range(60):
        right = rng.random((30, 200)) < rng.normal(0.5, 0.1, (30, 1))
        rank = np.where(right, 1, MISS).astype(np.int32).ravel()
        low, high = intervals(rank, np.repeat(np.arange(30), 200), draws=400, seed=experiment)["HR@1"]
        held += low <= 50 <= high
    assert held >= 51


def test_a_paired_difference_is_told_apart_only_where_people_agree() -> None:
    """By hand: 10 of 20 against 6 of 20 are 20 points; with one user ahead and one behind the interval holds 0."""
    first = np.array([[6, 0, 0, 0, 0, 4], [4, 0, 0, 0, 0, 6]])
    second = np.array([[4, 0, 0, 0, 0, 6], [2, 0, 0, 0, 0, 8]])
    ahead = paired(first, second)["HR@1"]
    assert ahead.points == pytest.approx(20.0)
    assert (ahead.low, ahead.high) == pytest.approx((20.0, 20.0))  # whoever is drawn, it is 2 of 10 more
    assert ahead.told_apart
    mixed = paired(first, first[::-1])["HR@1"]
    assert mixed.points == pytest.approx(0.0)
    assert (mixed.low, mixed.high) == pytest.approx((-20.0, 20.0))
    assert not mixed.told_apart


def test_a_paired_difference_needs_two_people_and_the_same_positions() -> None:
    one = np.array([[1, 0, 0, 0, 0, 1]])
    assert paired(one, one) == {}
    with pytest.raises(ValueError, match="same positions"):
        paired(one, 2 * one)
