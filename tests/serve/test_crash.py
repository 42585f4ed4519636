"""Killed at any moment, the server has every event that it acknowledged, once, and goes on as if nothing had been."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from serve.real import Real, start
from serve.world import APPS, event
from stap import Predictor
from stap.serve.models import EventIn

KILLS = int(os.environ.get("STAP_KILLS", "20"))
USERS = ("ann", "bob", "cy")


class Sender(threading.Thread):
    """A user who sends one event after the other, in small batches, and asks in between."""

    def __init__(self, port: int, user: str, acknowledged: list[str], next_: int, seed: int) -> None:
        super().__init__()
        self._line, self._user, self._acknowledged, self._next = Real(None, port), user, acknowledged, next_  # type: ignore[arg-type]
        self._rng = Random(seed)

    def run(self) -> None:
        try:
            while True:
                size = self._rng.randint(1, 5)
                events = [made(number) for number in range(self._next, self._next + size)]
                status, answer = self._line.ask("POST", f"/api/v1/users/{self._user}/events", {"events": events})
                assert (status, answer["accepted"]) == (200, size), answer
                self._acknowledged.extend(each["id"] for each in events)
                self._next += size
                if self._rng.random() < 0.3:
                    self._line.ask("GET", f"/api/v1/users/{self._user}/ranking?reasons=false")
        except OSError:
            self._line.hang_up()  # killed
        except Exception as error:
            if type(error).__module__ != "http.client":
                raise
            self._line.hang_up()


def made(number: int) -> dict[str, Any]:
    app = APPS[number // 2 * (number // 2) % 7 % len(APPS)]
    return event(number, app, 1.5 * number, "closed" if number % 2 else "opened")


def kept(server: Real, user: str) -> list[dict[str, Any]]:
    status, text = server.ask("GET", f"/api/v1/users/{user}/export")
    return [] if status == 404 else [json.loads(line) for line in text.splitlines()[1:]]


@pytest.mark.slow
def test_killed_under_load_it_loses_and_repeats_nothing(tmp_path: Path) -> None:
    rng = Random(7)
    acknowledged: dict[str, list[str]] = {user: [] for user in USERS}
    twins = {user: Predictor.load(user=user) for user in USERS}  # they never crash
    known = dict.fromkeys(USERS, 0)
    for kill in range(KILLS + 1):
        server = start(tmp_path, often=40)
        for user in USERS:
            found = kept(server, user)
            ids = [each["id"] for each in found]
            assert len(set(ids)) == len(ids)
            assert ids == [f"e{number}" for number in range(len(ids))], "reordered"
            assert ids[: len(acknowledged[user])] == acknowledged[user], "lost"
            acknowledged[user] = ids
            for each in map(EventIn.model_validate, found[known[user] :]):
                (twins[user].opened if each.kind == "opened" else twins[user].closed)(each.app, each.at)
            known[user] = len(ids)
            if ids:
                at = EventIn.model_validate(made(len(ids) + 3)).at
                query = at.isoformat().replace("+", "%2B")
                _, answer = server.ask("GET", f"/api/v1/users/{user}/ranking?k=5&reasons=false&at={query}")
                got = [(each["app"], each["probability"]) for each in answer["ranking"]]
                assert got == twins[user].rank(5, at)
                assert answer["events"] == len(ids)
        if kill == KILLS:
            server.stop()
            break
        senders = [Sender(server.port, user, acknowledged[user], len(acknowledged[user]), kill) for user in USERS]
        for sender in senders:
            sender.start()
        time.sleep(rng.uniform(0.02, 0.6))
        server.kill()
        for sender in senders:
            sender.join()
    assert min(map(len, acknowledged.values())) > KILLS
