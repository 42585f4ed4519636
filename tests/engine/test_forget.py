"""An app forgotten: gone from every byte of the state, and from every answer, as PyTorch has it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from stap.engine import EngineModel, EnginePredictor, Settings, Strategy
from stap.errors import BadInput
from stap.events import WHENEVER, Event, Moment
from stap.model import weights
from stap.model.config import ModelConfig
from stap.notices import Notice
from stap.reference.session import Stap

from .reference import saved, sharp
from .test_launch import EVIDENT, life, questions

PURE = ModelConfig(vocabulary=30, context=64, dim=16, layers=2, heads=2, hidden=24, ordinal_heads=1)
CONFIGS = {
    "pure": PURE,
    "knows no launches": EVIDENT,
    "launch head": replace(EVIDENT, launches=24),
    "fewer indices than apps": replace(EVIDENT, vocabulary=7, launches=24),
}


@pytest.fixture(params=list(CONFIGS), ids=list(CONFIGS))
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return saved(sharp(CONFIGS[request.param]), tmp_path)


def predictor(path: Path, strategy: Strategy = "iswi") -> EnginePredictor:
    return EngineModel(path, "fp32").predictor(Settings(seed=7, cache="fp32", strategy=strategy))


def long(app: str) -> str:
    return f"<the app called {app}>"


def events(launches: int, seed: int = 5) -> list[Event]:
    return [event._replace(app=long(event.app)) for event in life(launches, seed)]


def total(one: EnginePredictor, at: Moment | None = None) -> float:
    return sum(share for _, share in one.rank(99, at))


def test_no_trace_of_its_name_stays(path: Path) -> None:
    """Not now, not after more events, not in what is restored; notified or not, in front or not."""
    model, history = EngineModel(path, "fp32"), events(60)
    cut = max(step for step in range(60) if history[step].action == 1 and history[step].app != long("b"))
    front = history[cut]
    native = model.predictor(Settings(seed=7, cache="fp32"))
    for event in history[: cut + 1]:
        native.observe(event)
        native.notified(Notice(long("b"), event.minutes, 0.0))
    forgotten = [front.app, long("b"), next(e.app for e in history[cut::-1] if e.app not in (front.app, long("b")))]
    for gone in forgotten:
        assert gone.encode() in native.snapshot()
        native.forget(gone)
        assert gone.encode() not in native.snapshot()
    native.observe(Event(front.app, 0, front.minutes + 1.0, 3.0))
    restored = model.restore(native.snapshot())
    for event in history[cut + 1 :]:
        if event.app not in forgotten:
            for one in (native, restored):
                one.observe(event)
                assert not set(forgotten) & {app for app, _ in one.rank(99, WHENEVER)}
                assert one.index(long("b")) is None
    assert not [gone for gone in forgotten if gone.encode() in native.snapshot()]
    assert native.snapshot() == restored.snapshot()


def test_the_engine_says_what_pytorch_says(path: Path) -> None:
    """With an app forgotten now and then: the current one, one long unused, one that comes again."""
    native, torch, rng = predictor(path), Stap(weights.load(path), 7), random.Random(2)
    seen: set[str] = set()
    for step, event in enumerate(events(110)):
        for one in (native, torch):
            one.observe(event)
            one.notified(Notice(rng.choice("ab") if one is native else "a", 0.0, 0.0))  # a day old
        if event.action == 1:
            seen.add(event.app)
        if step % 12 == 11:
            gone = event.app if event.app in seen and step % 24 == 11 else rng.choice(sorted(seen))
            seen.remove(gone)
            native.forget(gone)
            torch.forget(gone)
        for at in questions(event) if step % 6 == 5 else ():
            mine, its = dict(native.rank(99, at)), dict(torch.rank(99, at))
            assert mine.keys() == its.keys()
            assert all(abs(mine[app] - its[app]) < 1e-6 for app in mine), (step, at)
        assert native.unseen() == pytest.approx(torch.unseen(), abs=1e-6)


@pytest.mark.parametrize("strategy", ["iswi", "reset", "re-prefill", "rolling"])
def test_an_answer_depends_on_what_was_told_alone_not_on_who_asked_when(path: Path, strategy: Strategy) -> None:
    often, seldom, eager = (predictor(path, strategy) for _ in range(3))
    for step, event in enumerate(events(120)):
        for one in (often, seldom, eager):
            one.observe(event)
            if step % 10 == 9:
                one.forget(event.app)
        often.rank(3)
        eager.catch_up(step % 5)
        if step % 37 == 36:
            assert often.rank(99) == seldom.rank(99) == eager.rank(99)
            assert often.rank(99, WHENEVER) == seldom.rank(99, WHENEVER)


def test_iswi_forgets_as_re_prefill_does(path: Path) -> None:
    one, other = predictor(path, "iswi"), predictor(path, "re-prefill")
    for step, event in enumerate(events(150)):
        for native in (one, other):
            native.observe(event)
            if step % 10 == 9:
                native.forget(event.app)
        assert one.rank(99) == other.rank(99)


def test_the_only_app_may_be_forgotten_and_life_goes_on(path: Path) -> None:
    native, evident = predictor(path), EngineModel(path).evidence > 0
    native.observe(Event("only", 1, 5.0, 0.1))
    native.forget("only")
    for at in (None, WHENEVER, Moment(9.0, 0.2)):
        assert native.rank(9, at) == []
    assert native.unseen() == (1.0 if evident else 0.0)
    native.observe(Event("only", 0, 6.0, 0.1))
    assert native.rank(9, WHENEVER) == []
    assert b"only" not in native.snapshot()
    for event in events(20):
        native.observe(event)
        if evident:
            assert total(native) + native.unseen() == pytest.approx(1.0, abs=1e-5)
    EngineModel(path, "fp32").restore(native.snapshot())


def test_opened_again_it_is_a_new_app(path: Path) -> None:
    """Nothing of the old counts is left: one open is all that is known of it."""
    native = predictor(path)
    for event in events(60):
        native.observe(event)
    current, app = events(60)[-1].app, next(app for app, _ in native.rank(1))
    before = dict(native.rank(99)).get(app, 0.0)
    native.forget(app)
    native.observe(Event(app, 1, 2e6, 8.0))
    native.observe(Event(current, 1, 2e6 + 1, 8.0))
    assert app in dict(native.rank(99))
    assert before > 0


def test_equal_histories_have_equal_snapshots_and_places_are_reused(path: Path) -> None:
    one, other = predictor(path), predictor(path)
    sizes = []
    for round in range(400):
        for native in (one, other):
            name, now = f"app {round:04}", 1e6 + 10.0 * round
            native.observe(Event(name, 1, now, 1.0))
            native.observe(Event(name, 0, now + 1.0, 1.0))
            if round % 2:
                native.forget(f"app {round - 1:04}")
                native.forget(name)
        sizes.append(len(one.snapshot()))
    assert one.snapshot() == other.snapshot()
    assert max(sizes[300:]) <= max(sizes[200:300]) * 1.15, "cues of the forgotten age out, nothing else grows"


def test_unknown_apps_are_refused_and_nothing_changes(path: Path) -> None:
    native = predictor(path)
    for app in ("a", "", 7):
        with pytest.raises(BadInput, match=r"no app .* was seen; name one that was opened or notified"):
            native.forget(app)  # type: ignore[arg-type]
    for event in events(10):
        native.observe(event)
    before = native.snapshot()
    with pytest.raises(BadInput):
        native.forget("never")
    assert native.snapshot() == before
