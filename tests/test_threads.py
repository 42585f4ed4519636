"""One Predictor in many hands: threads, copies, and a session that ran out of memory.

STAP_THREAD_SECONDS=60 pytest -m slow tests/test_threads.py goes on for longer.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from threading import Barrier, BrokenBarrierError, Lock, Thread
from time import monotonic
from typing import Any

import pytest

from stap import Predictor
from stap._engine import EngineError
from stap.engine import BROKEN, NO_MEMORY, EngineModel, EnginePredictor
from stap.errors import BadInput
from stap.events import CLOSE, OPEN, Event, Moment, Ranking
from stap.notices import Notice
from stap.weights import shipped
from stap.why import Reason

MONDAY = datetime(2025, 3, 3, 8)
SECONDS = float(os.environ.get("STAP_THREAD_SECONDS", "5"))
EVENTS = [
    Event(f"app {step * step % 11} {'x' * (step % 3) * 20}", action, 29e6 + 5 * step + 2 * (1 - action), step % 24)
    for step in range(60)
    for action in (OPEN, CLOSE)
]
LATER = Moment(29e6 + 1000.0, 9.0)
Answers = tuple[Ranking, Ranking, list[Reason]]


def reasons(predictor: EnginePredictor) -> list[Reason]:
    """For the first app of all; none before it is known."""
    with suppress(BadInput):
        return predictor.why(EVENTS[0].app, LATER)
    return []


@pytest.fixture(scope="module")
def model() -> EngineModel:
    return EngineModel(shipped())


@pytest.fixture(scope="module")
def serial(model: EngineModel) -> list[Answers]:
    """What is said after 0, 1, 2, ... events: of the next other app, at a moment, and for one app there."""
    predictor = model.predictor()
    answers = [(predictor.rank(5), predictor.rank(5, LATER), reasons(predictor))]
    for event in EVENTS:
        predictor.observe(event)
        answers.append((predictor.rank(5), predictor.rank(5, LATER), reasons(predictor)))
    return answers


class Shared:
    """Observers take the next event in turn; readers ask whenever they like, without a lock of their own."""

    def __init__(self, model: EngineModel, serial: list[Answers]) -> None:
        self.model, self.serial, self.predictor = model, serial, model.predictor()
        self.turn, self.begun, self.done, self.asked = Lock(), 0, 0, 0
        self.all_there = Barrier(8)
        self.wrong: list[str] = []

    def observe(self) -> None:
        self.all_there.wait()
        while True:
            with self.turn:
                if self.begun == len(EVENTS):
                    return
                self.begun += 1
                self.predictor.observe(EVENTS[self.begun - 1])
                self.done = self.begun

    def read(self, ask: Callable[[], object], which: Callable[[Answers], object]) -> None:
        """Every answer is that of a moment between question and answer; the last one is that after all events."""
        self.all_there.wait()
        over = False
        while not over:
            over = self.done == len(EVENTS)
            first = self.done
            answer = ask()
            possible = [which(answers) for answers in self.serial[first : self.begun + 1]]
            self.asked += 1
            if answer not in possible:
                self.wrong.append(f"after {first} events: {answer}")
                return

    def restored(self) -> Ranking:
        return self.model.restore(self.predictor.snapshot()).rank(5)

    def work_off(self) -> None:
        self.predictor.catch_up(2)
        self.predictor.info()
        self.predictor.index("app 1 ")
        if sum(share for _, share in self.predictor.rank_among(99, LATER)) > 1 + 1e-5:
            self.wrong.append("more than everything")

    def guarded(self, work: Callable[..., None], *args: object) -> None:
        """Whoever fails ends it for all: nobody waits for events that will not come."""
        try:
            work(*args)
        except Exception as error:
            self.wrong.append(repr(error))
            self.begun = self.done = len(EVENTS)

    def run(self) -> None:
        """Eight threads."""
        readers: list[tuple[Callable[[], object], Callable[[Answers], object]]] = [
            (lambda: self.predictor.rank(5), lambda answers: answers[0]),
            (lambda: reasons(self.predictor), lambda answers: answers[2]),
            (lambda: self.predictor.rank(5, LATER), lambda answers: answers[1]),
            (lambda: self.predictor.rank_among(5, LATER), lambda answers: answers[1]),
            (self.restored, lambda answers: answers[0]),
            (self.work_off, lambda _: None),
        ]
        threads = [Thread(target=self.guarded, args=(self.observe,)) for _ in range(2)]
        threads += [Thread(target=self.guarded, args=(self.read, *reader)) for reader in readers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.wrong
        assert self.predictor.rank(5) == self.serial[-1][0]


def test_eight_threads_are_answered_in_some_serial_order(model: EngineModel, serial: list[Answers]) -> None:
    Shared(model, serial).run()


@pytest.mark.slow
def test_eight_threads_are_answered_so_for_a_while(model: EngineModel, serial: list[Answers]) -> None:
    end = monotonic() + SECONDS
    asked = 0
    while monotonic() < end:
        shared = Shared(model, serial)
        shared.run()
        asked += shared.asked
    print(f"{asked} answers")


def test_threads_that_tell_two_kinds_of_time_are_not_both_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes first decides; the other is refused, as in any serial order."""
    predictor, both, refused = Predictor.load(), Barrier(2), list[BadInput]()
    check = Predictor._check_kind

    def slow(self: Predictor, zoned: bool) -> None:  # room for both between the check and what it allows
        check(self, zoned)
        with suppress(BrokenBarrierError):
            both.wait(0.2)

    def tell(when: datetime) -> None:
        try:
            predictor.opened("mail", when)
        except BadInput as error:
            refused.append(error)

    monkeypatch.setattr(Predictor, "_check_kind", slow)
    threads = [Thread(target=tell, args=(when,)) for when in (MONDAY, MONDAY.astimezone())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(way: Callable[[Predictor], Predictor]) -> None:
    predictor = Predictor.load(user="somebody")
    for step, app in enumerate(["mail", "chat", "mail", "map"]):
        predictor.opened(app, MONDAY + timedelta(minutes=step))
    other = way(predictor)
    before = predictor.rank(9)
    assert other.rank(9) == before
    other.opened("camera", MONDAY + timedelta(minutes=9))
    assert predictor.rank(9) == before != other.rank(9)
    with pytest.raises(BadInput, match="zone"):
        other.opened("mail", MONDAY.astimezone())


def test_pickling_is_refused_in_one_line() -> None:
    with pytest.raises(TypeError, match=r"^a Predictor is not pickled; save\(path\) it.*$"):
        pickle.dumps(Predictor.load())


@pytest.mark.parametrize("status", [NO_MEMORY, BROKEN])
def test_a_broken_session_names_the_remedy(status: int) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            def refuse(*args: object) -> None:
                raise EngineError(status, "no memory")

            return refuse

    predictor = EnginePredictor(Broken())  # type: ignore[arg-type]
    calls: list[Callable[[], object]] = [
        lambda: predictor.observe(Event("mail", OPEN, 0.0, 0.0)),
        lambda: predictor.notified(Notice("mail", 0.0, 0.0)),
        lambda: predictor.forget("mail"),
        lambda: predictor.rank(5),
        lambda: predictor.rank(5, LATER),
        lambda: predictor.rank_among(5, among=["mail"]),
        lambda: predictor.why("mail"),
        predictor.unseen,
        predictor.catch_up,
        predictor.logits,
        lambda: predictor.index("mail"),
        predictor.snapshot,
        predictor.info,
    ]
    for call in calls:
        with pytest.raises(BadInput, match=r"no memory; restore a snapshot or replay the log$"):
            call()
