"""The evidence in Python (the definition) and in C++ (what runs): the same numbers, blind to names."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stap import _engine, prior
from stap.events import CLOSE, OPEN, WHENEVER, Event, Moment
from stap.evidence import MOMENT, STATISTICS
from stap.predictors.blend import Blend
from stap.reference import evidence as definition

EVERY = 4096  # more candidates than anybody has apps


def _compare(events: list[Event], every: int = 1) -> None:
    python, native = definition.Evidence(), _engine.Evidence()
    for step, event in enumerate(events):
        python.observe(event)
        native.observe(event.app, event.action, event.minutes, event.hour)
        if step % every or not python.names:
            continue
        names, statistics, rank, context = native.now(EVERY)
        codes = [python.names.index(name) for name in names]
        assert sorted([*codes, python.current]) == list(range(len(python.names)))
        np.testing.assert_allclose(statistics, python.statistics()[codes], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(context, python.moment(), rtol=1e-4, atol=1e-4)
        assert rank.tolist() == [python._latest.index(code) for code in codes]


@pytest.mark.parametrize("person", range(4))
def test_native_is_the_definition(person: int) -> None:
    corpus = prior.people(1, seed=11, usages=(400, 700), first=person)
    pairs = corpus.events(0)
    _compare([event for pair in pairs for event in pair], every=7)


_event = st.builds(
    lambda app, action, minutes: Event(app, action, minutes, minutes % 1440.0 / 60.0),
    st.sampled_from("abcdef"),
    st.sampled_from([OPEN, OPEN, CLOSE]),
    st.floats(-1e6, 1e6),
)


@given(st.lists(_event, max_size=40))
@settings(deadline=None, max_examples=60)
def test_native_is_the_definition_also_when_time_jumps(events: list[Event]) -> None:
    _compare(events)


def test_the_blend_runs_along() -> None:
    corpus = prior.people(1, seed=3, usages=(600, 601))
    blend, native = Blend(), _engine.Evidence()
    for pair in corpus.events(0):
        for event in pair:
            blend.observe(event)
            native.observe(event.app, event.action, event.minutes, event.hour)
            names, statistics, _, _ = native.now(5)
            for (app, probability), name, row in zip(blend.rank(5), names, statistics, strict=True):
                assert math.isclose(probability, math.exp(row[0]), rel_tol=1e-5, abs_tol=2e-7)
                assert app == name or abs(dict(blend.rank(9))[name] - probability) < 1e-9


def test_names_mean_nothing() -> None:
    corpus = prior.people(1, seed=5, usages=(300, 301))
    plain, renamed = _engine.Evidence(), _engine.Evidence()
    for pair in corpus.events(0):
        for event in pair:
            plain.observe(event.app, event.action, event.minutes, event.hour)
            renamed.observe(event.app[::-1] + "!", event.action, event.minutes, event.hour)
        names, *values = plain.now(EVERY)
        other, *same = renamed.now(EVERY)
        assert [name[::-1] + "!" for name in names] == other
        for a, b in zip(values, same, strict=True):
            np.testing.assert_array_equal(a, b)


def test_two_usages_by_hand() -> None:
    """a from 0 to 2 minutes, b from 3 on: what the definition says of a, worked out on paper."""
    evidence = definition.Evidence()
    for event in (Event("a", OPEN, 0.0, 0.0), Event("a", CLOSE, 2.0, 2 / 60), Event("b", OPEN, 3.0, 3 / 60)):
        evidence.observe(event)
    row = dict(zip(STATISTICS, evidence.statistics()[0], strict=True))
    assert row["blend"] == 0.0  # the only one that can come next
    assert row["share"] == math.log(0.5 + 1e-4)
    half = 0.5 ** (1 / 8)  # a's count has faded for one usage, b's is 1
    assert math.isclose(row["last 8 usages"], math.log(half / (1 + half) + 1e-4))
    faded = 0.5 ** (3 / 30)
    assert math.isclose(row["last 30 minutes"], math.log(faded / (1 + faded) + 1e-4))
    assert math.isclose(row["idle minutes"], math.log(3.1))
    assert math.isclose(row["rank"], math.log(2.0))
    assert math.isclose(row["stay length"], math.log(3.0))
    assert math.isclose(row["in session"], math.log(2.0))  # one minute between them: the same session
    context = dict(zip(MOMENT, evidence.moment(), strict=True))
    assert context["open"] == 1.0
    assert math.isclose(context["gap"], math.log(1.1))
    assert context["fresh"] == 1.0
    assert context["surprise"] == 10.0


def test_more_apps_than_places_forgets_the_one_unused_for_longest() -> None:
    native = _engine.Evidence()
    for i in range(1500):
        native.observe(f"app {i}", OPEN, float(i), 0.0)
        native.observe("mail", OPEN, i + 0.5, 0.0)
    names, statistics, _, _ = native.now(EVERY)
    assert len(names) == 1023
    assert set(names) == {f"app {i}" for i in range(1500 - 1023, 1500)}
    assert np.isfinite(statistics).all()


def test_asked_at_a_moment_both_say_the_same() -> None:
    """Launches at once and after pauses, apps opened again, closes that are missing; asked now, later and whenever."""
    rng, now, app = np.random.default_rng(3), 1e6, "a"
    python, native = definition.Evidence(), _engine.Evidence()
    for launch in range(260):
        app = str(rng.choice(list("abcdefghijklmnop"))) if rng.random() < 0.7 else app
        now += float(
            rng.choice([0.01, 0.3, 2.0, 7.0, 50.0, 400.0, 50_000.0], p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.08, 0.02])
        )
        for action, later in ((OPEN, 0.0), (CLOSE, 0.5))[: 1 + (rng.random() < 0.9)]:
            event = Event(app, action, now + later, (now + later) % 1440 / 60)
            python.observe(event)
            native.observe(*event)
        for at in (WHENEVER, Moment(now + float(rng.choice([0.6, 30.0, 9e4])), float(rng.uniform(0, 24)))):
            if launch % 4:
                continue
            names, statistics, _, moment = native.at(EVERY, *at)
            assert sorted(names) == sorted(python.names)
            codes = [python.names.index(name) for name in names]
            np.testing.assert_allclose(statistics, python.statistics(at)[codes], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(moment, python.moment(at), rtol=1e-4, atol=1e-4)
