"""Notifications through the engine: as PyTorch has it, and not a bit of difference without any."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from stap.engine import EngineModel, EnginePredictor, Settings
from stap.errors import BadInput
from stap.events import WHENEVER, Event, Moment
from stap.model import weights
from stap.model.config import ModelConfig
from stap.notices import Notice
from stap.reference.session import Stap

from .reference import saved, sharp
from .test_launch import EVIDENT, life, questions


@pytest.fixture(params=[0, 24], ids=["no launch head", "launch head"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return saved(sharp(replace(EVIDENT, launches=request.param)), tmp_path)


def predictor(path: Path) -> EnginePredictor:
    return EngineModel(path, "fp32").predictor(Settings(seed=7, cache="fp32"))


def notified(events: Iterable[Event], seed: int = 3) -> list[Event | Notice]:
    """With notifications strewn in: of apps known and unknown, now and then a little late or early."""
    rng, mixed = random.Random(seed), list[Event | Notice]()
    for event in events:
        mixed.append(event)
        for _ in range(rng.choice([0, 0, 1, 2])):
            minutes = event.minutes + rng.choice([-3.0, 0.0, 0.1, 1.0, 20.0])
            mixed.append(Notice(rng.choice("abcdefxy"), minutes, 0.0))
    return mixed


def tell(one: EnginePredictor | Stap, each: Event | Notice) -> None:
    one.notified(each) if isinstance(each, Notice) else one.observe(each)


def answers(one: EnginePredictor, event: Event) -> list[list[tuple[str, float]]]:
    return [one.rank(99, at) for at in questions(event)]


def test_the_engine_says_what_pytorch_says(path: Path) -> None:
    native, torch = predictor(path), Stap(weights.load(path), 7)
    heard = 0.0
    for step, each in enumerate(notified(life(110))):
        tell(native, each)
        tell(torch, each)
        for at in questions(Event(*each[:1], 1, *each[-2:])) if step % 11 == 0 and step else ():
            mine, its = dict(native.rank(99, at)), dict(torch.rank(99, at))
            assert mine.keys() == its.keys()
            assert all(abs(mine[app] - its[app]) < 2e-5 for app in mine), (step, at)
    heard = sum(abs(app.weight) for app in torch._word.notices.apps.values())
    assert heard > 0.5, "something was learned"


def test_a_notified_app_rises_until_it_is_opened(path: Path) -> None:
    native, events = predictor(path), life(60)
    for event in events:
        native.observe(event)
    last = max(event.minutes for event in events)
    at = Moment(last + 30.0, 12.0)
    others = [app for app, _ in native.rank(99, at)]
    before = dict(native.rank(99, at))
    native.notified(Notice(others[-1], last + 29.5, 0.0))
    after = dict(native.rank(99, at))
    assert after[others[-1]] > 2 * before[others[-1]]
    assert sum(after.values()) == pytest.approx(sum(before.values()), abs=1e-6)
    assert dict(native.rank(99, WHENEVER))[others[-1]] > before[others[-1]], "also whenever it comes"
    fresh = predictor(path)
    for event in events:
        fresh.observe(event)
    for one in (native, fresh):  # the second time nobody waits
        one.observe(Event(others[-1], 1, last + 31.0, 12.0))
    assert [app for app, _ in native.rank(3)] == [app for app, _ in fresh.rank(3)]


def test_what_cannot_count_changes_no_bit(path: Path) -> None:
    """None at all; of apps never opened; of the app in front; a day old: the answers are the same to the last bit."""
    plain, told = predictor(path), predictor(path)
    for event in life(100):
        for one in (plain, told):
            one.observe(event)
        told.notified(Notice("never opened", event.minutes, 0.0))
        if event.action == 1:
            told.notified(Notice(event.app, event.minutes, 0.0))
        told.notified(Notice("a", event.minutes - 1440.0, 0.0))
        assert answers(plain, event) == answers(told, event)


def test_a_snapshot_keeps_them_and_asking_changes_nothing(path: Path) -> None:
    model = EngineModel(path, "fp32")
    native, asked = (model.predictor(Settings(seed=7, cache="fp32")) for _ in range(2))
    mixed = notified(life(80))
    for each in mixed[:120]:
        tell(native, each)
        tell(asked, each)
        asked.rank(5, WHENEVER)
    restored = model.restore(native.snapshot())
    assert restored.snapshot() == native.snapshot()
    for each in mixed[120:]:
        for one in (native, restored, asked):
            tell(one, each)
        assert native.rank(9, WHENEVER) == restored.rank(9, WHENEVER) == asked.rank(9, WHENEVER)


def test_renaming_apps_renames_the_answer(path: Path) -> None:
    names = {app: f"app {25 - number}" for number, app in enumerate("abcdefghijklmnopqrstuvwxyz")}
    one, other = predictor(path), predictor(path)
    for each in notified(life(60)):
        tell(one, each)
        tell(other, each._replace(app=names[each.app]))
        at = Moment(each.minutes + 20.0, 3.0)
        assert [(names[app], share) for app, share in one.rank(9, at)] == other.rank(9, at)


def test_a_flood_of_notified_apps_is_bounded(path: Path) -> None:
    native = predictor(path)
    for event in life(20):
        native.observe(event)
    sizes = []
    for number in range(4000):
        native.notified(Notice(f"app {number % 2500:04}", 1e6 + number, 0.0))
        if number % 1000 == 999:
            sizes.append(len(native.snapshot()))
    assert sizes[1] == sizes[2] == sizes[3]


def test_impossible_ones_are_refused(path: Path) -> None:
    native = predictor(path)
    for notice, why in (
        (Notice("a", float("nan"), 0.0), "finite"),
        (Notice("a", 1e13, 0.0), "out of range"),
        (Notice("", 5.0, 0.0), "name is empty"),
        (Notice(7, 5.0, 0.0), "no text"),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadInput, match=why):
            native.notified(notice)


def test_a_pure_model_takes_them_and_stays_as_it_is(tmp_path: Path) -> None:
    pure = ModelConfig(vocabulary=30, context=64, dim=16, layers=1, heads=2, hidden=24)
    plain, told = (predictor(saved(sharp(pure), tmp_path)) for _ in range(2))
    for event in life(30):
        plain.observe(event)
        tell(told, event)
        told.notified(Notice("b", event.minutes, 0.0))
        assert plain.rank(9, WHENEVER) == told.rank(9, WHENEVER)
    assert plain.snapshot() == told.snapshot()
