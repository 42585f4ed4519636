"""Asked at a moment: the engine and PyTorch say the same, and asking changes nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from stap.engine import EngineModel, EnginePredictor, Settings
from stap.events import WHENEVER, Event, Moment
from stap.model.config import ModelConfig
from stap.reference.session import Stap

from .reference import saved, sharp, stirred

EVIDENT = ModelConfig(
    vocabulary=30, context=64, dim=16, layers=2, heads=2, hidden=24, evidence=16, candidate_heads=1, ordinal_heads=1
)


def life(launches: int, seed: int = 5) -> list[Event]:
    """Apps opened again now and then, at once or after pauses of all lengths; some closes are missing."""
    rng, now, app, events = random.Random(seed), 1e6, "a", []
    for _ in range(launches):
        app = rng.choice("abcdefghijkl") if rng.random() < 0.7 else app
        now += rng.choice([0.01, 0.3, 2.0, 7.0, 50.0, 400.0])
        events.append(Event(app, 1, now, now % 1440 / 60))
        now += rng.expovariate(1.0)
        if rng.random() < 0.9:
            events.append(Event(app, 0, now, now % 1440 / 60))
    return events


def questions(event: Event) -> list[Moment | None]:
    later = [event.minutes + pause for pause in (0.0, 0.5, 3.0, 100.0)]
    return [None, WHENEVER, *(Moment(minutes, minutes % 1440 / 60) for minutes in later)]


@pytest.fixture(params=[0, 24], ids=["no launch head", "launch head"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A model with a launch head, and one without: the habit of returning speaks for that."""
    return saved(stirred(sharp(replace(EVIDENT, launches=request.param))), tmp_path)


def predictor(path: Path, seed: int = 7) -> EnginePredictor:
    return EngineModel(path, "fp32").predictor(Settings(seed=seed, cache="fp32"))


def test_the_engine_says_what_pytorch_says(path: Path) -> None:
    """Also after its last word has been corrected by a hundred launches."""
    from stap.model import weights

    native, torch = predictor(path), Stap(weights.load(path), 7)
    for step, event in enumerate(life(110)):
        native.observe(event)
        torch.observe(event)
        for at in questions(event) if step % 9 == 0 else ():
            mine, its = dict(native.rank(99, at)), dict(torch.rank(99, at))
            assert mine.keys() == its.keys()
            assert all(abs(mine[app] - its[app]) < 2e-5 for app in mine), (step, at)
            assert abs(native.unseen(at) - torch.unseen(at)) < 2e-5
            assert sum(mine.values()) + native.unseen(at) == pytest.approx(1.0, abs=1e-5)


def test_the_current_app_may_come_again_when_a_moment_is_named(path: Path) -> None:
    native = predictor(path)
    for event in life(30):
        native.observe(event)
    current = life(30)[-1].app
    assert current not in dict(native.rank(99))
    for at in questions(life(30)[-1])[1:]:
        ranking = native.rank(99, at)
        assert current in dict(ranking)
        assert sum(share for _, share in ranking) == pytest.approx(1.0, abs=0.2)


def test_asking_changes_nothing(path: Path) -> None:
    asked, left_alone = predictor(path), predictor(path)
    for event in life(60):
        for native in (asked, left_alone):
            native.observe(event)
        for at in questions(event):
            asked.rank(5, at)
    last = Moment(2e6, 12.0)
    assert asked.rank(99) == left_alone.rank(99)
    assert asked.rank(99, last) == left_alone.rank(99, last)
    assert asked.rank(99, last) == asked.rank(99, last)


def test_a_snapshot_keeps_the_habit_of_returning_and_the_last_word(path: Path) -> None:
    model = EngineModel(path, "fp32")
    native = model.predictor(Settings(seed=7, cache="fp32"))
    events = life(80)
    for event in events[:100]:
        native.observe(event)
    restored = model.restore(native.snapshot())
    for event in events[100:]:
        native.observe(event)
        restored.observe(event)
        for at in questions(event):
            assert native.rank(9, at) == restored.rank(9, at)


def test_renaming_apps_renames_the_answer(path: Path) -> None:
    names = {app: f"app {number}" for number, app in enumerate("abcdefghijkl")}
    one, other = predictor(path), predictor(path)
    for event in life(60):
        one.observe(event)
        other.observe(event._replace(app=names[event.app]))
        at = Moment(event.minutes + 20.0, 3.0)
        assert [(names[app], share) for app, share in one.rank(9, at)] == other.rank(9, at)


def test_impossible_moments_are_refused(path: Path) -> None:
    from stap.errors import BadInput

    native = predictor(path)
    assert native.rank(3, Moment(5.0, 1.0)) == []
    for event in life(3):
        native.observe(event)
    for moment in (Moment(float("nan"), 1.0), Moment(5.0, 24.0), Moment(5.0, -1.0), Moment(1e13, 1.0)):
        with pytest.raises(BadInput):
            native.rank(3, moment)


def test_without_its_last_word_the_model_answers_alone(path: Path) -> None:
    """At first both say the same; then launches correct the one, and the other stays what it was."""
    learning, alone = (EngineModel(path, "fp32").predictor(Settings(last_word=word)) for word in (True, False))
    events = life(60)
    for predictor in (learning, alone):
        predictor.observe(events[0])
    later = Moment(events[0].minutes + 3.0, 12.0)
    assert dict(learning.rank(9, later)) == pytest.approx(dict(alone.rank(9, later)))
    for event in events[1:]:
        learning.observe(event)
        alone.observe(event)
    later = Moment(events[-1].minutes + 3.0, 12.0)
    assert dict(learning.rank(9, later)) != pytest.approx(dict(alone.rank(9, later)), abs=1e-3)
    restored = EngineModel(path, "fp32").restore(alone.snapshot())
    assert restored.rank(9, later) == alone.rank(9, later)
