"""Filtering, splitting, cutting, padding, encoding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stap.events import CLOSE, NO_LABEL, OPEN, Corpus
from stap.phi import draw, invert
from stap.windows import cut, encode, filter_users, split_users


def people(*sizes: int, apps: int = 7) -> Corpus:
    """Users with so many usages each; neighbours differ; minute 10 apart, 4 long, days after 1970."""
    total = sum(sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    position = np.arange(total) - np.repeat(offsets[:-1], sizes)
    start = np.asarray(1e6 + 10.0 * position, np.float64)
    names = tuple(tuple(f"app {code}" for code in range(min(apps, size))) for size in sizes)
    return Corpus(
        tuple(f"u{number}" for number in range(len(sizes))),
        names,
        offsets,
        (position % apps).astype(np.int32),
        start,
        start + 4.0,
    )


@pytest.mark.parametrize(
    ("count", "ratios", "sizes"),
    [
        (846, (8, 2), [677, 169]),
        (846, (7, 1, 2), [592, 85, 169]),
        (292, (8, 2), [234, 58]),
        (292, (7, 1, 2), [205, 29, 58]),  # the paper lists 204 + 29 + 58 = 291: it lost someone
        (1, (8, 2), [1, 0]),
    ],
)
def test_splits_have_the_papers_sizes(count: int, ratios: tuple[int, ...], sizes: list[int]) -> None:
    assert [len(part) for part in split_users(count, ratios, seed=1)] == sizes


@given(st.integers(0, 500), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 99))
def test_a_split_is_a_partition_near_its_ratios(count: int, ratios: list[int], seed: int) -> None:
    parts = split_users(count, ratios, seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    for part, ratio in zip(parts, ratios, strict=True):
        assert abs(len(part) - count * ratio / sum(ratios)) < 1
    assert all((a == b).all() for a, b in zip(parts, split_users(count, ratios, seed), strict=True))


def test_users_with_too_many_apps_are_dropped() -> None:
    assert filter_users(people(10, 3, apps=5), vocabulary=4).users == ("u1",)


def test_a_window_by_hand() -> None:
    """Apps 0 1 2 0 1 cut into windows of 2 usages (4 events): labels cross the edges, the tail is padded."""
    corpus = people(5, apps=3)
    windows = cut(corpus, 4)
    phi = np.tile(np.arange(10, dtype=np.int32)[::-1], (3, 1))  # app a becomes 9 - a
    batch = encode(corpus, windows, np.arange(3), phi)
    assert batch.app.tolist() == [[9, 9, 8, 8], [7, 7, 9, 9], [8, 8, 0, 0]]
    assert batch.label.tolist() == [[8, 8, 7, 7], [9, 9, 8, 8], [NO_LABEL] * 4]
    assert batch.action.tolist() == [[OPEN, CLOSE] * 2] * 3
    assert batch.minutes.tolist() == [[0, 4, 10, 14], [0, 4, 10, 14], [0, 4, 0, 0]]
    assert batch.valid.tolist() == [[True] * 4, [True] * 4, [True, True, False, False]]
    assert np.allclose(batch.hour[0], np.mod(1e6 + np.array([0, 4, 10, 14]), 1440) / 60)


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 12), st.integers(0, 9))
def test_every_label_appears_exactly_once_per_event_of_its_usage(sizes: list[int], half: int, epoch: int) -> None:
    corpus = people(*sizes)
    windows = cut(corpus, 2 * half)
    which = np.arange(len(windows))
    phi = draw(0, epoch, which, 20)
    batch = encode(corpus, windows, which, phi)
    inverse = invert(phi, corpus.app_counts[windows.user])
    for name, truth in (("app", corpus.app), ("label", corpus.label)):
        virtual = getattr(batch, name)[:, ::2]  # one per usage
        assert (getattr(batch, name)[:, 1::2] == virtual).all()
        codes = np.where(virtual >= 0, np.take_along_axis(inverse, np.maximum(virtual, 0), axis=1), NO_LABEL)
        assert codes[batch.valid[:, ::2]].tolist() == truth.tolist()
    assert batch.valid.sum() == 2 * len(corpus.app)
    assert (batch.label >= 0).sum() == 2 * (len(corpus.app) - len(sizes))
    assert (batch.label[~batch.valid] == NO_LABEL).all()


def test_an_odd_window_is_refused() -> None:
    with pytest.raises(ValueError, match="even"):
        cut(people(3), 5)


def test_times_stay_exact_for_years() -> None:
    """Re-based minutes are exact within a window, however late the window is."""
    corpus = people(4)
    late = Corpus(corpus.users, corpus.apps, corpus.offsets, corpus.app, corpus.start + 3e7, corpus.end + 3e7)
    batch = encode(late, cut(late, 8), np.array([0]), draw(0, 0, [0], 10))
    assert batch.minutes[0].tolist() == [0, 4, 10, 14, 20, 24, 30, 34]
