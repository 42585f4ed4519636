"""mfu, mru, previous and markov, worked out by hand, and held to a slow reference."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from predictors.streams import fed, merged_apps, usages
from stap.predictors import make


def test_mfu_counts_and_breaks_ties_by_recency() -> None:
    assert fed(make("mfu"), usages("abac")).rank(5) == [("a", 2 / 4), ("c", 1 / 4), ("b", 1 / 4)]


def test_mfu_overtakes() -> None:
    """b draws level and was used later; then a is ahead again."""
    assert [app for app, _ in fed(make("mfu"), usages("abcab")).rank(5)] == ["b", "a", "c"]
    assert [app for app, _ in fed(make("mfu"), usages("abcaba")).rank(5)] == ["a", "b", "c"]


def test_mru_has_the_current_app_first() -> None:
    assert fed(make("mru"), usages("abac")).rank(5) == [("c", 1 / 2), ("a", 1 / 6), ("b", 1 / 12)]


def test_previous_leaves_the_current_app_out() -> None:
    assert fed(make("previous"), usages("abac")).rank(5) == [("a", 1 / 2), ("b", 1 / 6)]
    assert fed(make("previous"), usages("a")).rank(5) == []


def test_markov_mixes_transitions_with_recency_and_frequency() -> None:
    """After a came b once and c once. Of five usages b and c are one each; c is the second latest, b the third."""
    c = 1 + 50 / 2 * (1 / 5 + 1 / 6)
    b = 1 + 50 / 2 * (1 / 5 + 1 / 12)
    ranking = fed(make("markov"), usages("abaca")).rank(5)
    assert [app for app, _ in ranking] == ["c", "b"]
    assert [probability for _, probability in ranking] == pytest.approx([c / (b + c), b / (b + c)])


def test_markov_transitions_win_in_the_end() -> None:
    """b follows a again and again, though d is always more recent and as frequent."""
    assert fed(make("markov"), usages("abcd" * 30 + "a")).rank(1)[0][0] == "b"


@given(apps=merged_apps())
def test_mfu_is_a_sort_by_count_then_recency(apps: str) -> None:
    counts, last = Counter(apps), {app: i for i, app in enumerate(apps)}
    expected = sorted(counts, key=lambda app: (-counts[app], -last[app]))
    assert fed(make("mfu"), usages(apps)).rank(9) == [(app, counts[app] / len(apps)) for app in expected]


@given(apps=merged_apps())
def test_mru_and_previous_are_a_sort_by_recency(apps: str) -> None:
    last = {app: i for i, app in enumerate(apps)}
    expected = sorted(last, key=lambda app: -last[app])
    assert [app for app, _ in fed(make("mru"), usages(apps)).rank(9)] == expected
    assert [app for app, _ in fed(make("previous"), usages(apps)).rank(9)] == expected[1:]
