"""Which windows, when, on which process, under which phi."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stap.errors import BadInput
from stap.events import NO_LABEL
from stap.train.config import TrainConfig, preset
from stap.train.data import Feed, people
from stap.windows import pieces, trimmed

from .made import corpus

PEOPLE = corpus()
TINY = preset("tiny")


@given(st.integers(0, 3), st.integers(1, 4), st.sampled_from([64, 512, 4096]))
@settings(deadline=None)
def test_an_epoch_has_every_window_once_on_one_process(epoch: int, size: int, tokens: int) -> None:
    feed = Feed(PEOPLE, TINY)
    windows = feed.windows(TINY.context_of(epoch))
    seen = []
    for step in range(feed.steps(epoch)):
        batch = feed.batch(epoch, step)
        assert len(batch) * windows.context <= TINY.tokens_per_batch
        for rank in range(size):
            for piece in pieces(windows, batch, rank, size, tokens):
                assert len(piece) == 1 or len(piece) * trimmed(windows, piece).context <= tokens
                seen += piece.tolist()
    assert sorted(seen) == list(range(len(windows)))


def test_labels_are_counted_as_they_are_encoded() -> None:
    feed = Feed(PEOPLE, TINY)
    for step in range(feed.steps(0)):
        batch = feed.batch(0, step)
        assert feed.labels(0, batch) == int((feed.encode(0, batch).label != NO_LABEL).sum())


def test_all_steps_are_counted() -> None:
    for epochs in (1, 2, 5):
        settings = replace(TINY, epochs=epochs)
        feed = Feed(PEOPLE, settings)
        assert feed.steps_in_all() == sum(feed.steps(epoch) for epoch in range(epochs))


def test_batches_hold_as_many_events_at_any_context() -> None:
    settings = replace(TINY, curriculum=((16, 1), (32, 1)))
    feed = Feed(PEOPLE, settings)
    sizes = [feed.windows_per_batch(settings.context_of(epoch)) * settings.context_of(epoch) for epoch in range(3)]
    assert sizes == [1024, 1024, 1024]


def test_phi_is_new_every_epoch_and_order_too() -> None:
    feed, which = Feed(PEOPLE, TINY), np.arange(4)
    first, again, later = feed.encode(0, which), feed.encode(0, which), feed.encode(1, which)
    assert (first.app == again.app).all()
    assert (first.app != later.app).any(axis=1).all()
    assert feed.batch(0, 0).tolist() != feed.batch(1, 0).tolist()


def test_without_shuffle_a_user_keeps_one_phi() -> None:
    feed = Feed(PEOPLE, replace(TINY, shuffle=False))
    windows = feed.windows(32)
    same = np.flatnonzero(windows.user == windows.user[0])
    assert len(same) > 1
    batch, later = feed.encode(0, same), feed.encode(1, same)
    assert (batch.app == later.app).all()
    of_app: dict[int, set[int]] = {}
    for row, window in enumerate(same.tolist()):
        codes = np.repeat(PEOPLE.app[windows.first[window] :][: windows.usages[window]], 2)
        for code, index in zip(codes.tolist(), batch.app[row].tolist(), strict=False):
            of_app.setdefault(code, set()).add(index)
    assert all(len(indices) == 1 for indices in of_app.values())


def test_trimming_drops_padding_only() -> None:
    feed = Feed(PEOPLE, preset("small"))
    windows = feed.windows(512)
    which = np.arange(len(windows))
    assert trimmed(windows, which).context == 192  # 95 usages at most, rounded up
    assert feed.labels(100, which) == int((feed.encode(100, which).label != NO_LABEL).sum())


def test_folds_part_the_people() -> None:
    tested = []
    for k in range(1, 4):
        split = people(PEOPLE, replace(TINY, fold=f"{k}/3"), "log")
        names = split.names()
        assert sorted(name for part in names.values() for name in part) == sorted(PEOPLE.users)
        tested += names["testing"]
    assert sorted(tested) == sorted(PEOPLE.users)


@pytest.mark.parametrize("users", [2, 3, 4])
def test_two_people_are_enough(users: int) -> None:
    split = people(corpus(users), replace(TINY, split=(7, 1)), "log")
    assert (len(split.training.users), len(split.validation.users)) == (users - 1, 1)
    other = people(corpus(users), replace(TINY, split=(1, 9)), "log")
    assert (len(other.training.users), len(other.validation.users)) == (1, users - 1)


def test_too_few_after_too_many_apps_says_both() -> None:
    """Two people with 6 apps, but one only of whom fits."""
    both = corpus(2, 60, 6)
    app = both.app.copy()
    app[: both.offsets[1]] %= 3
    narrow = replace(TINY, model=replace(TINY.model, vocabulary=3))
    some = replace(both, app=app, apps=(both.apps[0][:3], both.apps[1]))
    with pytest.raises(BadInput, match=r"1 user to train on, 1 more with over 3 distinct apps.*or raise model\.vocab"):
        people(some, narrow, "log")


@pytest.mark.parametrize(
    ("users", "usages", "apps", "settings", "why"),
    [
        (1, 60, 6, TINY, "1 user to train on; .*at least two: repeat --data"),
        (8, 60, 6, replace(TINY, fold="9/9"), "9 folds of 8 users"),
        (2, 60, 6, replace(TINY, fold="1/2"), "1 user to train on"),
        (4, 200, 40, TINY, "more than 32 distinct apps; raise model.vocabulary"),
    ],
)
def test_too_little_or_too_much_says_what_to_do(
    users: int, usages: int, apps: int, settings: TrainConfig, why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        people(corpus(users, usages, apps), settings, "log")
