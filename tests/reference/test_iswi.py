"""The schedule, by the words of the paper and by what it promises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stap.reference.iswi import plan


def test_four_stages_by_hand() -> None:
    """h = 2, from the paper: stage 0 only Inf0; odd stages Inf0 predicts and is cleared at the end; even ones Inf1."""
    assert [plan(step, 2) for step in range(8)] == [
        ((0,), 0, None),
        ((0,), 0, None),
        ((0, 1), 0, None),
        ((0, 1), 0, 0),
        ((0, 1), 1, None),
        ((0, 1), 1, 1),
        ((0, 1), 0, None),
        ((0, 1), 0, 0),
    ]


@given(st.integers(1, 40), st.integers(1, 400))
def test_promises(half: int, steps: int) -> None:
    """The active cache saw the newest events without a gap, h of them from stage 1 on; never over L + h in all."""
    held: tuple[list[int], list[int]] = ([], [])
    for step in range(steps):
        now = plan(step, half)
        for cache in now.receives:
            held[cache].append(step)
        active = held[now.predicts]
        assert active == list(range(active[0], step + 1))
        assert len(active) <= 2 * half
        assert len(held[0]) + len(held[1]) <= 3 * half
        if step >= half:
            assert len(active) > half  # this event, and at least h before it
            assert now.receives == (0, 1)
        else:
            assert active[0] == 0
            assert not held[1]
        if now.clears is not None:
            assert now.clears == now.predicts
            assert len(held[now.clears]) == 2 * half
            held[now.clears].clear()


@given(st.integers(1, 40), st.integers(0, 400))
def test_the_active_cache_changes_exactly_when_it_is_cleared(half: int, step: int) -> None:
    now, after = plan(step, half), plan(step + 1, half)
    assert (now.clears is not None) == (now.predicts != after.predicts)
