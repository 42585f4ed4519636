"""Why an app stands where it does: the engine and Python give the same reasons, and what they tell is true."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stap.engine import EngineModel, EnginePredictor, Settings
from stap.errors import BadInput
from stap.events import WHENEVER, Event, Moment
from stap.model import weights
from stap.model.config import ModelConfig
from stap.notices import Notice
from stap.reference.why import TellingStap
from stap.why import Reason

from .reference import saved, sharp, stirred
from .test_launch import EVIDENT, life, questions

EVERY = 99


@pytest.fixture(params=[0, 24], ids=["no launch head", "launch head"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return saved(stirred(sharp(replace(EVIDENT, launches=request.param))), tmp_path)


def predictor(path: Path) -> EnginePredictor:
    return EngineModel(path, "fp32").predictor(Settings(seed=7, cache="fp32"))


def kinds_compared(path: Path, launches: int, asked: Collection[int]) -> set[str]:
    """Engine against twin over a life, asked after some of its events; which kinds of reason came up."""
    native, reference = predictor(path), TellingStap(weights.load(path), 7)
    kinds: set[str] = set()
    for step, event in enumerate(life(launches)):
        for one in (native, reference):
            one.observe(event)
            if step % 7 == 3:  # some are opened soon, some wait
                one.notified(Notice("abcdefghijkl"[step % 12], event.minutes + 0.1, event.hour))
        for at in questions(event) if step in asked else ():
            for app, _ in native.rank(EVERY, WHENEVER):
                mine, its = native.why(app, at, EVERY), reference.why(app, at, EVERY)
                told = {reason.kind: replace(reason, strength=0.0) for reason in mine}
                assert told == {reason.kind: replace(reason, strength=0.0) for reason in its}, (step, at, app)
                strength = {reason.kind: reason.strength for reason in its}
                for reason in mine:
                    assert reason.strength == pytest.approx(strength[reason.kind], abs=1e-5)
                assert mine == sorted(mine, key=lambda reason: -reason.strength)
                kinds |= set(told)
    return kinds


def test_the_engine_and_python_give_the_same_reasons(path: Path) -> None:
    assert kinds_compared(path, 50, (40, 80)) >= {"again", "before", "hour", "often", "notified"}


@pytest.mark.slow
def test_the_engine_and_python_give_the_same_reasons_of_all_kinds(path: Path) -> None:
    kinds = {"again", "after pause", "before", "hour", "recent", "lately", "often", "notified"}
    assert kinds_compared(path, 150, range(24, 300, 25)) >= kinds


def test_asking_why_changes_nothing(path: Path) -> None:
    native = predictor(path)
    for event in life(60):
        native.observe(event)
    native.rank(1)  # what waits is computed
    before, answers = native.snapshot(), [native.rank(EVERY, at) for at in questions(life(60)[-1])]
    for at in questions(life(60)[-1]):
        reasons = native.why("b", at)
        assert native.why("b", at) == reasons
    assert native.snapshot() == before
    assert [native.rank(EVERY, at) for at in questions(life(60)[-1])] == answers


def test_at_most_k_are_given_the_strongest_first(path: Path) -> None:
    native = predictor(path)
    for event in life(60):
        native.observe(event)
    all_of_them = native.why("b", WHENEVER, EVERY)
    assert native.why("b", WHENEVER, 1) == all_of_them[:1]
    assert native.why("b", WHENEVER, 0) == []
    assert all(reason.strength >= 0.1 for reason in all_of_them)


def test_unknown_apps_and_impossible_moments_are_refused(path: Path) -> None:
    native = predictor(path)
    with pytest.raises(BadInput, match="no app 'a' was seen"):
        native.why("a")
    for event in life(3):
        native.observe(event)
    with pytest.raises(BadInput, match="no app 'zebra' was seen"):
        native.why("zebra", WHENEVER)
    with pytest.raises(BadInput):
        native.why("a", Moment(float("nan"), 1.0))
    with pytest.raises(BadInput, match="no app's name"):
        native.why(3)  # type: ignore[arg-type]


def test_the_current_app_is_no_other_app(path: Path) -> None:
    native = predictor(path)
    for event in life(60):
        native.observe(event)
    assert native.why(life(60)[-1].app) == []


def test_a_pure_model_has_no_reasons(tmp_path: Path) -> None:
    native = predictor(saved(sharp(ModelConfig(30, 64, 16, 2, 2, 24)), tmp_path))
    native.observe(Event("a", 1, 5.0, 0.1))
    assert native.why("a", WHENEVER) == []
    with pytest.raises(BadInput, match="no app 'b' was seen"):
        native.why("b")


def usage(app: str, start: float, end: float) -> Iterator[Event]:
    yield Event(app, 1, start, start % 1440 / 60)
    yield Event(app, 0, end, end % 1440 / 60)


@pytest.fixture
def habits() -> EnginePredictor:
    """The shipped model after ten days: mail at 8, chat a minute after it, mail again after ten; games at noon."""
    from stap.weights import shipped

    native = EngineModel(shipped()).predictor()
    for day in range(10):
        at_8, noon = 1440.0 * day + 480, 1440.0 * day + 720
        for app, start in (("mail", at_8), ("chat", at_8 + 3), ("mail", at_8 + 5), ("mail", at_8 + 16)):
            for event in usage(app, start, start + 1):
                native.observe(event)
        for app in ("game", "news", f"rare {day % 5}", "game"):
            for event in usage(app, noon, noon + 5):
                native.observe(event)
            noon += 5
    return native


def facts(reasons: list[Reason]) -> dict[str, tuple[int, int, int | None, str | None]]:
    return {reason.kind: (reason.count, reason.of, reason.hour, reason.app) for reason in reasons}


TRUE: dict[str, dict[str, tuple[int | str | None, ...]]] = {  # by hand, as of 12:22 on the tenth day
    "news": {
        "before": (10, 19, None, "game"),  # game, which is used last, was left for news ten times, and nine for mail
        "hour": (0, 0, 12, None),
        "recent": (17, 0, None, None),  # opened at 12:05
        "often": (3, 9, None, None),  # 10 usages; mail and game had 20 each
    },
    "mail": {
        "before": (9, 19, None, "game"),
        "lately": (3, 24, None, None),
        "often": (1, 9, None, None),
        "waking": (19, 39, None, None),  # nine nights and ten returns; chat and game came first ten times each
    },
    "game": {
        "again": (0, 0, None, None),  # it never came back
        "hour": (0, 0, 12, None),
        "lately": (2, 24, None, None),
        "often": (1, 9, None, None),
        "waking": (10, 39, None, None),
    },
}


@pytest.mark.parametrize("app", TRUE)
def test_what_is_told_is_true(habits: EnginePredictor, app: str) -> None:
    told = facts(habits.why(app, Moment(1440.0 * 9 + 742, 742 / 60), EVERY))
    assert told.items() <= TRUE[app].items()
    assert ("again" if app == "game" else "before") in told


def test_the_app_that_comes_back_after_such_a_pause_says_so(habits: EnginePredictor) -> None:
    """Mail, left for ten minutes, came back on each of ten days."""
    start = 14400.0 + 480
    for app, at in (("mail", start), ("chat", start + 3), ("mail", start + 5)):
        for event in usage(app, at, at + 1):
            habits.observe(event)
    reasons = habits.why("mail", Moment(start + 16, (start + 16) / 60 % 24))
    assert reasons[0].sentence == "opened again after 10 of 10 pauses like this"


def test_a_notification_is_a_reason_until_the_app_is_opened(habits: EnginePredictor) -> None:
    """Posted at 12:25, asked at 12:28: recent (0.25), since the last close (0.4), the latest of all (0.2)."""
    now = Moment(1440.0 * 9 + 748, 748 / 60)
    habits.notified(Notice("chat", now.minutes - 3, now.hour))
    reason = next(reason for reason in habits.why("chat", now, EVERY) if reason.kind == "notified")
    assert reason.sentence == "notified 3 minutes ago"
    assert reason.strength == pytest.approx(0.85)
    assert "notified" not in facts(habits.why("mail", now, EVERY))
    assert "notified" not in facts(habits.why("chat", None, EVERY)), "the next other app is asked without them"
    habits.observe(Event("chat", 1, now.minutes, now.hour))
    assert "notified" not in facts(habits.why("chat", Moment(now.minutes + 5, 12.5), EVERY))


def test_what_was_forgotten_is_not_told_of_who_comes_after(habits: EnginePredictor) -> None:
    """Mail was opened three times in the last day; under its name, and perhaps its index, a new app begins."""
    habits.forget("mail")
    now = 1440.0 * 9 + 750
    for event in usage("mail", now, now + 1):
        habits.observe(event)
    told = facts(habits.why("mail", Moment(now + 5, 12.6), EVERY))
    assert told.get("lately") is None
    assert "often" not in told
