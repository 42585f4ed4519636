"""A row that adapts its set and keeps the order of who stays: in Python, and the same in C."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stap import _engine
from stap.steady import steady, wanted

APPS = st.sampled_from("abcdefghijkl")
ROWS = st.lists(APPS, unique=True, max_size=8)


@pytest.mark.parametrize(
    ("shown", "ranked", "row"),
    [
        ("abcd", "dcba", "abcd"),  # the same set: the same row
        ("abcd", "xbyd", "xbyd"),  # x, the best newcomer, in the first place that was left
        ("abcd", "dyxa", "ayxd"),
        ("", "cab", "cab"),
        ("ab", "cdab", "abcd"),
        ("abcd", "da", "ad"),  # fewer slots: d moves left, a has no reason to
        ("abcd", "cxd", "xcd"),
        ("abcd", "", ""),
        ("aab", "xba", "axb"),  # shown twice: the first one counts
    ],
)
def test_rows_worked_out_by_hand(shown: str, ranked: str, row: str) -> None:
    assert "".join(steady(shown, ranked)) == row
    assert "".join(_engine.steady(list(shown), list(ranked))) == row


@given(ROWS, ROWS)
def test_the_set_is_that_of_the_ranking_and_who_stays_keeps_the_order(shown: list[str], ranked: list[str]) -> None:
    row = steady(shown, ranked)
    assert len(row) == len(ranked)
    assert set(row) == set(ranked)
    stay = [app for app in shown if app in ranked]
    assert [app for app in row if app in shown] == stay
    assert [app for app in row if app not in shown] == [app for app in ranked if app not in shown]
    if len(shown) <= len(ranked):
        assert all(row.index(app) == shown.index(app) for app in stay), "nobody who stays moves"
    assert steady(row, ranked) == row
    assert steady([], ranked) == ranked


@given(st.lists(APPS, max_size=8), ROWS)
def test_c_says_the_same(shown: list[str], ranked: list[str]) -> None:
    assert _engine.steady(shown, ranked) == steady(shown, ranked)


def test_a_margin_keeps_who_is_shown() -> None:
    """b is 1.5 times as likely as a: not enough where twice is asked. At 1 it is exactly the top k."""
    ranking = [("c", 0.5), ("b", 0.3), ("a", 0.2)]
    assert wanted(ranking, 2) == ["c", "b"]
    assert wanted(ranking, 2, "ca", 2.0) == ["c", "a"]
    assert wanted(ranking, 2, "ca", 1.4) == ["c", "b"]
    assert wanted(ranking, 9, "ca") == ["c", "b", "a"]
