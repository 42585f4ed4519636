"""phi: injective, invertible, uniform, reproducible; the online one grows and recycles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stap.phi import UNUSED, OnlinePhi, apply, draw, invert

counts = st.integers(0, 2**31)


@given(counts, counts, st.lists(counts, min_size=1, max_size=5), st.integers(1, 300))
def test_every_row_is_a_permutation(seed: int, epoch: int, windows: list[int], vocabulary: int) -> None:
    phi = draw(seed, epoch, windows, vocabulary)
    assert (np.sort(phi, axis=1) == np.arange(vocabulary)).all()


@given(counts, st.integers(1, 50), st.data())
def test_invert_undoes_apply(seed: int, apps: int, data: st.DataObject) -> None:
    phi = draw(seed, 3, [7], 50)
    codes = np.array([data.draw(st.lists(st.integers(0, apps - 1), min_size=1))], np.int32)
    inverse = invert(phi, np.array([apps]))
    assert (np.take_along_axis(inverse, apply(phi, codes), axis=1) == codes).all()
    assert (inverse != UNUSED).sum() == apps


def test_a_window_s_phi_does_not_depend_on_its_company() -> None:
    together = draw(5, 2, np.arange(100), 200)
    assert (draw(5, 2, [63], 200)[0] == together[63]).all()


def test_seed_epoch_and_window_all_matter() -> None:
    base = draw(1, 1, [1], 200)
    for other in (draw(2, 1, [1], 200), draw(1, 2, [1], 200), draw(1, 1, [2], 200)):
        assert (base != other).mean() > 0.9


def test_phi_is_uniform() -> None:
    """Chi-squared over (app, index) cells, and over pairs of apps: 0.1 % tails of the normal approximation."""
    vocabulary, draws = 20, 20_000
    phi = draw(9, 0, np.arange(draws), vocabulary)
    for cells in (phi[:, 0], phi[:, 7], phi[:, 19], phi[:, 3] * vocabulary + phi[:, 4]):
        seen = np.bincount(cells)
        seen = seen[seen > 0]
        expected = draws / len(seen)
        excess = ((seen - expected) ** 2 / expected).sum() - (len(seen) - 1)
        assert abs(excess) < 3.3 * np.sqrt(2 * (len(seen) - 1))


def test_padding_and_missing_labels_pass_through() -> None:
    assert apply(draw(0, 0, [0], 10), np.array([[-1, 3, -1]], np.int32))[0, [0, 2]].tolist() == [-1, -1]


def test_non_shuffle_is_one_phi_a_user_for_all_epochs() -> None:
    users = np.array([4, 4, 9])
    phi = draw(0, 0, users, 200)
    assert (phi[0] == phi[1]).all()
    assert (phi[0] != phi[2]).any()


@given(st.lists(st.integers(0, 12), min_size=1, max_size=200), st.integers(1, 8), counts)
def test_online_phi_is_injective_and_gives_up_the_least_recent(uses: list[int], vocabulary: int, seed: int) -> None:
    phi, recent = OnlinePhi(vocabulary, seed), list[str]()
    for app in map(str, uses):
        known = app in recent
        before = phi.get(app)
        index, loser = phi.use(app)
        assert 0 <= index < vocabulary
        if known:
            assert (index, loser) == (before, None)
            recent.remove(app)
        elif len(recent) == vocabulary:
            assert loser == recent.pop(0)
        else:
            assert loser is None
        recent.append(app)
        assert len({phi.get(name) for name in recent}) == len(recent) == len(phi)
        assert all(phi.invert(phi.get(name) or 0) == name for name in recent)


def test_online_phi_takes_a_random_free_index() -> None:
    firsts = [OnlinePhi(10, seed).use("A")[0] for seed in range(2000)]
    assert np.bincount(firsts, minlength=10).min() > 140
