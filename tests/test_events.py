"""Usages to arrays: codes, minutes, hours, labels."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from test_launches import log
from test_usage import DAY, table

from stap.events import NO_LABEL, UNKNOWN, Corpus, Usages, from_table, hour_of_day, interleave, merged
from stap.notices import Notice, notices
from stap.usage import NOTIFICATIONS, launches, merge

CORPUS = from_table(merge(table(("u", "B", 0, 60), ("u", "A", 120, 150), ("u", "B", 180, 240), ("v", "C", 60, 61))))


def test_codes_count_first_uses_within_a_user() -> None:
    assert CORPUS.users == ("u", "v")
    assert CORPUS.apps == (("B", "A"), ("C",))
    assert CORPUS.app.tolist() == [0, 1, 0, 0]
    assert CORPUS.offsets.tolist() == [0, 3, 4]


def test_minutes_are_exact() -> None:
    first = CORPUS.start[0]
    assert (CORPUS.start - first).tolist() == [0.0, 2.0, 3.0, 1.0]
    assert (CORPUS.end - first).tolist() == pytest.approx(
        [1.0, 2.5, 4.0, 1.0 + 1 / 60], abs=1e-8
    )  # under a microsecond
    assert first == (np.datetime64("2024-05-01") - np.datetime64("1970-01-01")) / np.timedelta64(1, "m")


def test_a_label_is_the_next_app_and_never_another_user_s() -> None:
    assert CORPUS.label.tolist() == [1, 0, NO_LABEL, NO_LABEL]


def test_selecting_users_keeps_their_rows() -> None:
    only = CORPUS.select(np.array([1]))
    assert (only.users, only.app.tolist(), only.label.tolist()) == (("v",), [0], [NO_LABEL])
    assert CORPUS.select(np.empty(0, np.int64)).users == ()


def test_stretches_are_people_without_a_past() -> None:
    """B A B C A -> B A | B C, and A is left; the other user is too short."""
    rows = [("u", app, 60 * n, 60 * n + 30) for n, app in enumerate("BABCA")]
    stretches = from_table(merge(table(*rows, ("v", "C", 60, 61)))).cut(2)
    assert stretches.users == ("u from 0", "u from 2")
    assert stretches.apps == (("B", "A"), ("B", "C"))
    assert stretches.app.tolist() == [0, 1, 0, 1]
    assert stretches.offsets.tolist() == [0, 2, 4]
    assert (stretches.start - stretches.start[0]).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert stretches.label.tolist() == [1, NO_LABEL, 1, NO_LABEL]
    assert CORPUS.cut(4).users == ()


def test_hours_are_real_numbers_below_24() -> None:
    assert hour_of_day(np.array([0.0, 90.0, 1439.0, 1440.0, -60.0])).tolist() == [0.0, 1.5, 1439 / 60, 0.0, 23.0]


def test_opens_and_closes_alternate() -> None:
    assert interleave(np.array([[1, 3]]), np.array([[2, 4]])).tolist() == [[1, 2, 3, 4]]


LAUNCHES = launches(
    log(
        *(("u", "A", 0, 60), ("u", "home", 70), ("u", "A", 80, 100), ("u", "B", 100, 120), ("u", "off", 130)),
        *(("u", "B", 140, 150), ("v", "C", 60, 61)),
    )
)


def test_launches_keep_the_same_app_again_and_whether_a_home_screen_came_before() -> None:
    corpus = from_table(LAUNCHES)
    assert corpus.app.tolist() == [0, 0, 1, 1, 0]
    assert corpus.label.tolist() == [0, 1, 1, NO_LABEL, NO_LABEL]
    assert corpus.home.tolist() == [0, 1, 0, 0, UNKNOWN]
    assert corpus.home.dtype == np.int8


def test_merged_usages_differ_from_their_neighbours_and_know_no_home_screen() -> None:
    corpus = merged(LAUNCHES)
    assert corpus.app.tolist() == [0, 1, 0]
    assert (corpus.end - corpus.start).tolist() == pytest.approx([100 / 60, 50 / 60, 1 / 60])
    assert corpus.home.tolist() == [UNKNOWN] * 3


def test_home_stays_with_its_usage() -> None:
    corpus = from_table(LAUNCHES)
    assert corpus.select(np.array([1, 0])).home.tolist() == [UNKNOWN, 0, 1, 0, 0]
    assert corpus.first(2).home.tolist() == [0, 1, UNKNOWN]
    assert corpus.cut(2).home.tolist() == [0, 1, 0, 0]
    assert Corpus.of(corpus.people()).home.tolist() == corpus.home.tolist()
    one = corpus.usages(0)
    assert one.take(np.array([False, True, False, False])).homes.tolist() == [1]
    assert one.together(Usages(*one[:3])).homes.tolist() == [0, UNKNOWN, 1, UNKNOWN, 0, UNKNOWN, 0, UNKNOWN]
    assert Corpus.of([]).home.tolist() == []


def test_who_makes_usages_by_hand_knows_of_no_home_screen() -> None:
    usages = Usages(np.zeros(2, np.int32), np.zeros(2), np.ones(2))
    assert Corpus.of([("u", ("A",), usages)]).home.tolist() == [UNKNOWN, UNKNOWN]


def test_notices_are_each_user_s_own_in_the_order_of_time() -> None:
    rows = [("v", "Mail", 7200), ("u", "Chat", 5400), ("u", "Mail", 60)]
    posted = pl.DataFrame(
        [(user, app, DAY + timedelta(seconds=time)) for user, app, time in rows], schema=NOTIFICATIONS, orient="row"
    )
    midnight = from_table(LAUNCHES).start[0]
    assert notices(posted) == {
        "u": [Notice("Mail", midnight + 1, 1 / 60), Notice("Chat", midnight + 90, 1.5)],
        "v": [Notice("Mail", midnight + 120, 2.0)],
    }
    assert notices(posted.clear()) == {}
