"""Augmented logs stay valid, come out the same for the same chance, and differ from their origin as announced."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prior.test_people import assert_valid
from stap.events import AT_ONCE, Usages, tidy
from stap.prior.augment import crop, drop_apps, interrupt, merge_apps, splice, warp_time

ALONE: tuple[Callable[[Usages, np.random.Generator], Usages], ...] = (
    crop,
    warp_time,
    drop_apps,
    merge_apps,
    interrupt,
)


@st.composite
def logs(draw: st.DrawFn) -> Usages:
    """Any valid log, tiny ones and instants among them."""
    usages = draw(st.integers(1, 60))
    app = draw(st.lists(st.integers(0, 8), min_size=usages, max_size=usages))
    length = draw(st.lists(st.sampled_from([0.0, 0.1, 3.0, 200.0]), min_size=usages, max_size=usages))
    gap = draw(st.lists(st.sampled_from([0.0, 0.5, 30.0, 700.0]), min_size=usages, max_size=usages))
    start = 25_000_000.0 + np.cumsum(gap) + np.concatenate([[0.0], np.cumsum(length)[:-1]])
    return tidy(Usages(np.array(app, np.int32), start, start + np.array(length)))


def same(one: Usages, other: Usages) -> bool:
    columns = ((one.app, other.app), (one.start, other.start), (one.end, other.end))
    return all(np.array_equal(a, b) for a, b in columns)


@settings(max_examples=60, deadline=None)
@given(logs(), logs(), st.integers(0, 2**32))
def test_valid_and_reproducible(log: Usages, other: Usages, seed: int) -> None:
    before = Usages(log.app.copy(), log.start.copy(), log.end.copy())
    for augment in ALONE:
        once, twice = (augment(log, np.random.default_rng(seed)) for _ in range(2))
        assert_valid(tidy(once))
        assert same(once, tidy(once, AT_ONCE)), "launches within a minute are one"
        assert len(once.app) > 0
        assert same(once, twice)
    spliced = splice(log, other, np.random.default_rng(seed))
    assert_valid(tidy(spliced))
    assert len(spliced.app) > 0
    assert same(before, log), "the origin was changed"


@pytest.fixture
def log() -> Usages:
    rng = np.random.default_rng(3)
    start = 25_000_000.0 + np.cumsum(rng.exponential(40, 2000))
    return tidy(Usages(rng.integers(0, 20, 2000).astype(np.int32), start, start + rng.exponential(2, 2000)))


def many(augment: Callable[[Usages, np.random.Generator], Usages], log: Usages) -> list[Usages]:
    return [augment(log, np.random.default_rng(seed)) for seed in range(30)]


def test_crops_are_parts(log: Usages) -> None:
    cropped = many(crop, log)
    assert all(np.isin(part.start, log.start).all() for part in cropped)
    sizes = [len(part.app) for part in cropped]
    assert min(sizes) < 0.5 * len(log.app) < max(sizes) <= len(log.app)


def test_warping_keeps_the_order_and_changes_the_pace(log: Usages) -> None:
    warped = many(warp_time, log)
    assert all((part.app == log.app).all() for part in warped)
    lengths = [np.median(part.end - part.start) / np.median(log.end - log.start) for part in warped]
    assert min(lengths) < 0.8
    assert max(lengths) > 1.2
    assert all(np.abs(part.start - log.start).max() < 24 * 60 for part in warped), "the hours of the day got lost"


def test_dropped_apps_are_gone_and_merged_ones_are_fewer(log: Usages) -> None:
    for augment in (drop_apps, merge_apps):
        counts = [int(part.app.max()) + 1 for part in many(augment, log)]
        assert min(counts) < 18
        assert max(counts) <= 20
    assert all(len(tidy(part).app) < len(log.app) for part in many(merge_apps, log) if part.app.max() < 18)


def test_interruptions_go_straight_back_and_lose_no_time(log: Usages) -> None:
    def straight_back(one: Usages) -> float:
        return float((one.app[2:] == one.app[:-2]).mean())

    broken = many(interrupt, log)
    assert max(map(straight_back, broken)) > 0.35 > 0.1 > straight_back(log)
    for part in broken:
        assert np.isin(log.start, part.start).mean() > 0.98, "a usage lost its beginning, but for merging"
        assert (part.end - part.start).sum() == pytest.approx((log.end - log.start).sum())
        assert set(part.app) <= set(log.app)


def test_a_splice_holds_both(log: Usages) -> None:
    other = Usages(log.app, log.start + 3.0, log.end + 3.0)
    spliced = many(lambda mine, rng: splice(mine, other, rng), log)
    shares = [float(np.isin(part.start, log.start).mean()) for part in spliced]
    assert min(shares) < 0.6
    assert sum(0.1 < share < 0.9 for share in shares) > 15
