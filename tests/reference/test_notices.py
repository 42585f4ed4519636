"""Notifications in the last word: what they add, what a launch teaches, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stap.notices import Notice
from stap.reference.last_word import LastWord
from stap.reference.notices import START, Notices

NAMES = ["mail", "chat", "maps"]
SHARES = np.array([0.5, 0.3, 0.2])
RANKS = np.array([9.0, 9.0, 9.0])


def notices(**minutes: float) -> Notices:
    made = Notices()
    for app, when in minutes.items():
        made.notified(Notice(app, when, 0.0))
    return made


def test_a_notified_app_gets_a_weight_by_age_and_more_if_it_came_since_and_is_the_latest() -> None:
    made = notices(mail=100.0, chat=118.5, maps=90.0)
    told = made.look(NAMES, 120.0, 118.5)
    young, recent, old, since, latest = START
    assert made.score(told).tolist() == pytest.approx([old, young + since + latest, old])
    assert made.look(NAMES, 114.0, 118.5).signs[:, 0].tolist() == [0, 1, 0, 0, 0], "14 minutes old"
    assert made.look(["else"], 120.0, 0.0).signs.any() == 0
    assert made.score(made.look(NAMES, 100.0 + 1440.0, 0.0)).tolist() == pytest.approx([0.0, old + since + latest, 0.0])
    assert recent < young


def test_what_comes_from_the_future_is_young() -> None:
    assert notices(mail=130.0).look(NAMES, 120.0, 125.0).signs[:, 0].tolist() == [1, 0, 0, 1, 1]


def test_opening_the_app_clears_it_and_a_new_one_counts_again() -> None:
    made = notices(mail=100.0)
    made.opened("mail")
    made.opened("never notified")
    assert not made.look(NAMES, 101.0, 0.0).signs.any()
    made.notified(Notice("mail", 101.0, 0.0))
    assert made.look(NAMES, 101.5, 0.0).signs[0, 0] == 1


def test_of_two_at_the_same_time_the_one_that_came_last_is_the_latest() -> None:
    made = notices(mail=100.0, chat=100.0)
    assert made.look(NAMES, 101.0, 0.0).signs[4].tolist() == [0, 1, 0]
    made.notified(Notice("mail", 100.0, 0.0))
    assert made.look(NAMES, 101.0, 0.0).signs[4].tolist() == [1, 0, 0]


def test_a_launch_takes_a_step_up_its_likelihood() -> None:
    word = LastWord()
    word.notices.notified(Notice("chat", 100.0, 0.0))
    told = word.notices.look(NAMES, 101.0, 99.0)
    lift = math.exp(START[0] + START[3] + START[4])
    chat = 0.3 * lift / (0.5 + 0.3 * lift + 0.2)
    assert word.correct(SHARES, SHARES, RANKS, False, told)[1] == pytest.approx(chat)
    word.learn(SHARES, SHARES, RANKS, False, told, 1)
    assert word.notices.weights == pytest.approx(np.array(START) + 0.05 * (1 - chat) * np.array([1, 0, 0, 1, 1]))
    assert word.notices.apps["chat"].weight == pytest.approx(0.1 * (1 - chat))


def test_weights_stay_within_their_bounds() -> None:
    """Followed, and then passed over, two thousand times."""
    word = LastWord()
    for chosen in [1] * 2000 + [0] * 2000:
        word.notices.notified(Notice("chat", 100.0, 0.0))
        word.learn(SHARES, SHARES, RANKS, False, word.notices.look(NAMES, 101.0, 99.0), chosen)
        assert np.abs(word.notices.weights).max() <= 3.0
        assert abs(word.notices.apps["chat"].weight) <= 2.0
    assert word.notices.apps["chat"].weight < 0


def test_without_any_nothing_is_added_and_nothing_learned() -> None:
    word = LastWord()
    told = word.notices.look(NAMES, 101.0, 99.0)
    assert not word.notices.score(told).any()
    word.learn(SHARES, SHARES, RANKS, False, told, 1)
    assert word.notices.weights.tolist() == list(START)
