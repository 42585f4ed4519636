"""What holds for every classical predictor, whatever the events."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given

from predictors.streams import any_events, at, fed, usages
from stap.errors import BadInput
from stap.events import Event
from stap.predictors import CLASSICAL, make

NAMES = list(CLASSICAL)


def test_names_in_the_order_of_the_tables() -> None:
    assert NAMES == ["mfu", "mru", "previous", "again", "markov", "ppm", "blend"]


def test_unknown_name_says_which_are_known() -> None:
    with pytest.raises(BadInput, match=r"no predictor 'mfy'; known are mfu, mru, previous, again, markov, ppm, blend"):
        make("mfy")


@pytest.mark.parametrize("name", NAMES)
def test_nobody_yet_ranks_nothing(name: str) -> None:
    predictor = make(name)
    assert predictor.rank(5) == []
    predictor.observe(at("a", 0, 10.0))  # a close out of the blue opens nothing
    assert predictor.rank(5) == []


@pytest.mark.parametrize("name", NAMES)
@given(events=any_events())
def test_ranking_is_sound_after_every_event(name: str, events: list[Event]) -> None:
    predictor, opened, current = make(name), set[str](), None
    for event in events:
        predictor.observe(event)
        if event.action == 1:
            opened.add(event.app)
            current = event.app
        ranking = predictor.rank(100)
        apps = [app for app, _ in ranking]
        probabilities = [probability for _, probability in ranking]
        left_out = set() if name in ("mfu", "mru") else {current}
        assert len(apps) == len(set(apps))
        assert set(apps) == opened - left_out
        assert all(0.0 < probability <= 1.0 for probability in probabilities)
        assert sum(probabilities) <= 1.0 + 1e-9
        assert probabilities == sorted(probabilities, reverse=True)


@pytest.mark.parametrize("name", NAMES)
@given(events=any_events())
def test_shorter_ranking_is_a_prefix(name: str, events: list[Event]) -> None:
    predictor = fed(make(name), events)
    everything = predictor.rank(100)
    for k in range(-1, 10):
        assert predictor.rank(k) == everything[: max(k, 0)]


@pytest.mark.parametrize("name", NAMES)
@given(events=any_events())
def test_asking_changes_nothing(name: str, events: list[Event]) -> None:
    asked, left_alone = make(name), make(name)
    for event in events:
        asked.observe(event)
        asked.rank(3).clear()  # the list is the caller's, to do with as he likes
        left_alone.observe(event)
    assert asked.rank(100) == left_alone.rank(100)


@pytest.mark.parametrize("name", NAMES)
def test_reopening_the_current_app_is_the_same_usage(name: str) -> None:
    once = fed(make(name), [at("a", 1, 0), at("a", 0, 1), at("b", 1, 2), at("b", 0, 5)])
    again = fed(make(name), [at("a", 1, 0), at("a", 1, 1), at("a", 0, 1), at("b", 1, 2), at("b", 1, 3), at("b", 0, 5)])
    assert once.rank(5) == again.rank(5) != []


def test_ranking_does_not_depend_on_the_hash_seed() -> None:
    """Strings hash differently in every process; no order may come from that."""
    script = (
        "from stap.events import Event\nfrom stap.predictors import CLASSICAL\n"
        "for make in CLASSICAL.values():\n"
        "    predictor = make()\n"
        "    for i, app in enumerate('abcdefghijklmnopqrstuvwxyz' + 'tqhzcm' * 2):\n"
        "        predictor.observe(Event(app, 1, 3.0 * i, 1.0))\n"
        "        predictor.observe(Event(app, 0, 3.0 * i + 1, 1.0))\n"
        "    print(predictor.rank(30))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
    assert printed.pop().count("[(") == len(CLASSICAL)


@pytest.mark.parametrize("name", ["previous", "markov", "ppm", "blend"])
def test_a_strict_alternation_is_learned(name: str) -> None:
    predictor = fed(make(name), usages("xyz" + "ab" * 20))
    assert predictor.rank(1)[0][0] == "a"
