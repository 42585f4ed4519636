"""Which windows, when, on which process, under which phi."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stap.errors import BadInput
from stap.events import NO_LABEL, Longs
from stap.train.config import TrainConfig
from stap.train.people import split
from stap.train.presets import preset
from stap.train.tasks.paper import Paper, PaperEpoch
from stap.windows import cut, pieces, split_users, trimmed
from train.made import corpus

PEOPLE = corpus()
TINY = preset("tiny")


def epoch_of(number: int, settings: TrainConfig = TINY) -> PaperEpoch:
    """An epoch of everybody: nobody validates here."""
    windows = cut(PEOPLE, settings.context_of(number))
    order = np.random.default_rng([settings.seed, number]).permutation(len(windows))
    return PaperEpoch(settings, number, PEOPLE, windows, order)


def labels_of(epoch: PaperEpoch, which: Longs) -> int:
    *_, label, _ = epoch.tensors(which)
    return int((label != NO_LABEL).sum())


@given(st.integers(0, 3), st.integers(1, 4), st.sampled_from([64, 512, 4096]))
@settings(deadline=None)
def test_an_epoch_has_every_window_once_on_one_process(number: int, size: int, tokens: int) -> None:
    epoch = epoch_of(number)
    seen = []
    for step in range(len(epoch)):
        batch = epoch.batch(step)
        assert len(batch) * epoch.windows.context <= TINY.tokens_per_batch
        for rank in range(size):
            for piece in pieces(epoch.windows, batch, rank, size, tokens):
                assert len(piece) == 1 or len(piece) * trimmed(epoch.windows, piece).context <= tokens
                seen += piece.tolist()
    assert sorted(seen) == list(range(len(epoch.windows)))


def test_labels_are_counted_as_they_are_encoded() -> None:
    epoch = epoch_of(0)
    for step in range(len(epoch)):
        batch = epoch.batch(step)
        assert epoch.labels(batch) == labels_of(epoch, batch)


def test_all_steps_are_counted() -> None:
    for epochs in (1, 2, 5):
        task = Paper(PEOPLE, replace(TINY, epochs=epochs), "log")
        assert task.steps == sum(len(task.epoch(number)) for number in range(epochs))


def test_batches_hold_as_many_events_at_any_context() -> None:
    settings = replace(TINY, curriculum=((16, 1), (32, 1)))
    epochs = [epoch_of(number, settings) for number in range(3)]
    assert [epoch.size * epoch.windows.context for epoch in epochs] == [1024, 1024, 1024]


def test_phi_is_new_every_epoch_and_order_too() -> None:
    which = np.arange(4)
    first, again, later = (epoch_of(number).tensors(which)[0] for number in (0, 0, 1))
    assert (first == again).all()
    assert (first != later).any(dim=1).all()
    assert epoch_of(0).batch(0).tolist() != epoch_of(1).batch(0).tolist()


def test_without_shuffle_a_user_keeps_one_phi() -> None:
    settings = replace(TINY, shuffle=False)
    epoch, later = epoch_of(0, settings), epoch_of(1, settings)
    same = np.flatnonzero(epoch.windows.user == epoch.windows.user[0])
    assert len(same) > 1
    app = epoch.tensors(same)[0]
    assert (app == later.tensors(same)[0]).all()
    of_app: dict[int, set[int]] = {}
    for row, window in enumerate(same.tolist()):
        codes = np.repeat(PEOPLE.app[epoch.windows.first[window] :][: epoch.windows.usages[window]], 2)
        for code, index in zip(codes.tolist(), app[row].tolist(), strict=False):
            of_app.setdefault(code, set()).add(index)
    assert all(len(indices) == 1 for indices in of_app.values())


def test_trimming_drops_padding_only() -> None:
    epoch = epoch_of(100, preset("small"))
    which = np.arange(len(epoch.windows))
    assert epoch.windows.context == 512
    assert trimmed(epoch.windows, which).context == 192  # 95 usages at most, rounded up
    assert epoch.labels(which) == labels_of(epoch, which)


def test_folds_part_the_people() -> None:
    tested = []
    for k in range(1, 4):
        names = split(PEOPLE, replace(TINY, fold=f"{k}/3"), "log").names()
        assert sorted(name for part in names.values() for name in part) == sorted(PEOPLE.users)
        tested += names["testing"]
    assert sorted(tested) == sorted(PEOPLE.users)


def test_three_ratios_are_the_papers_three_parts() -> None:
    """7:1:2 of 846 users is 592, 85 and 169; here of 20 users 14, 2 and 4, and nobody is in two parts."""
    names = split(corpus(20, 12), replace(TINY, split=(7, 1, 2)), "log").names()
    assert [len(part) for part in names.values()] == [14, 2, 4]
    assert len({name for part in names.values() for name in part}) == 20
    assert [len(part) for part in split_users(846, (7, 1, 2), 0)] == [592, 85, 169]


@pytest.mark.parametrize("users", [2, 3, 4])
def test_two_people_are_enough(users: int) -> None:
    parts = split(corpus(users), replace(TINY, split=(7, 1)), "log")
    assert (len(parts.training.users), len(parts.validation.users)) == (users - 1, 1)
    other = split(corpus(users), replace(TINY, split=(1, 9)), "log")
    assert (len(other.training.users), len(other.validation.users)) == (1, users - 1)


def test_too_few_after_too_many_apps_says_both() -> None:
    """Two people with 6 apps, but one only of whom fits."""
    both = corpus(2, 60, 6)
    app = both.app.copy()
    app[: both.offsets[1]] %= 3
    narrow = replace(TINY, model=replace(TINY.model, vocabulary=3))
    some = replace(both, app=app, apps=(both.apps[0][:3], both.apps[1]))
    with pytest.raises(BadInput, match=r"1 user to train on, 1 more with over 3 distinct apps.*or raise model\.vocab"):
        split(some, narrow, "log")


@pytest.mark.parametrize(
    ("users", "usages", "apps", "settings", "why"),
    [
        (1, 60, 6, TINY, "1 user to train on; .*at least two: give more logs"),
        (8, 60, 6, replace(TINY, fold="9/9"), "9 folds of 8 users"),
        (2, 60, 6, replace(TINY, fold="1/2"), "1 user to train on"),
        (4, 200, 40, TINY, "more than 32 distinct apps; raise model.vocabulary"),
    ],
)
def test_too_little_or_too_much_says_what_to_do(
    users: int, usages: int, apps: int, settings: TrainConfig, why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        split(corpus(users, usages, apps), settings, "log")


def test_who_always_trains_neither_validates_nor_is_held_out() -> None:
    always = ("u1", "u2", "u5")
    for wanted in (replace(TINY, always=always, split=(2, 1, 2)), replace(TINY, always=always, fold="1/2")):
        assert set(always) <= set(split(PEOPLE, wanted, "log").names()["training"])
