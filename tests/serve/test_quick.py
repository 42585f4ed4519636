"""The short way for events answers as the route does."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from serve.world import BASE, MONDAY, TOKEN, day, event, serving
from stap.serve import answers, quick
from stap.serve.limits import Limits
from stap.serve.routes import people

SHORT, LONG = "application/json", "application/json; charset=utf-8"  # only the first is plainly right


def bodies() -> list[Any]:
    """Right ones, and everything that can be wrong with one."""
    right = event(1, "Mail", 0.0)
    return [
        json.dumps({"events": day()}),
        json.dumps({"events": [right]}),
        json.dumps({"events": [{**right, "kind": "moved"}]}),
        json.dumps({"events": [{**right, "at": "2026-03-02T08:00:00"}]}),
        json.dumps({"events": [{**right, "at": "2999-03-02T08:00:00+00:00"}]}),
        json.dumps({"events": [{**right, "at": "2099-03-02T08:00:00+00:00"}]}),
        json.dumps({"events": [{**right, "app": "a\nb"}]}),
        '{"events": [{"id": "\\ud800", "kind": "opened", "app": "Mail", "at": "2026-03-02T08:00:00+00:00"}]}',
        json.dumps({"events": [{**right, "more": 1}]}),
        json.dumps({"events": []}),
        json.dumps([right]),
        "{",
        "",
        b"\xff\xfe",
    ]


@pytest.mark.parametrize("query", ["", "?k=3", "?k=100", "?k=101", "?k=0", "?k=x", "?k=3&k=4", "?l=1"])
def test_both_ways_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr(answers, "local_now", lambda: MONDAY + timedelta(days=1))
    with serving(tmp_path / "short") as one, serving(tmp_path / "long") as other:
        for body in bodies():
            told = [
                client.post(f"/api/v1/users/me/events{query}", content=body, headers={"Content-Type": kind})
                for client, kind in ((one, SHORT), (other, LONG))
            ]
            short, long = ((answer.status_code, answer.json()) for answer in told)
            assert short == long
        kept = [client.get("/api/v1/users/me/history").text for client in (one, other)]
        assert kept[0] == kept[1]


def test_what_is_plainly_right_never_reaches_the_route(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as client:
        ways: list[str] = []
        for place in (quick, people):

            async def noted(*given: Any, name: str = place.__name__, real: Any = place.taken) -> Any:
                ways.append(name)
                return await real(*given)

            monkeypatch.setattr(place, "taken", noted)
        for kind in (SHORT, LONG):
            client.post("/api/v1/users/a/events?k=3", content=bodies()[0], headers={"Content-Type": kind})
        assert ways == [quick.__name__, people.__name__]
        told = client.get("/metrics").text
    assert f'method="POST",route="{people.EVENTS}",status="200"}} 2' in told


def test_without_the_token_or_too_large_nothing_is_taken(tmp_path: Path) -> None:
    with serving(tmp_path, token="wrong") as client:
        for kind in (SHORT, LONG):
            headers = {"Content-Type": kind}
            assert client.post("/api/v1/users/a/events", content=bodies()[0], headers=headers).status_code == 401
    with serving(tmp_path) as client:
        large = json.dumps({"events": day()}) + " " * (2 << 20)
        assert client.post("/api/v1/users/a/events", content=large, headers={"Content-Type": SHORT}).status_code == 413
        assert client.get("/api/v1/users/a/history").status_code == 404


@pytest.mark.parametrize("kind", [SHORT, LONG])
def test_a_body_that_turns_out_too_large_is_refused_as_such(tmp_path: Path, kind: str) -> None:
    """Its length is not said before, so it is found out while it comes."""
    pieces = (b" " * (1 << 16) for _ in range(40))
    with serving(tmp_path) as client:
        told = client.post("/api/v1/users/a/events", content=pieces, headers={"Content-Type": kind})
        assert told.status_code == 413
        assert "too large" in told.json()["error"]["why"]


@pytest.mark.parametrize("kind", [SHORT, LONG])
def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    """Through the application itself: a client of the tests always sends all it has."""
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Any) -> None:
        told.append(message)

    with serving(tmp_path, Limits(patience=0.05)) as client:
        headers = {"Host": BASE.removeprefix("http://"), "Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/v1/users/a/events",
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "server": ("127.0.0.1", 8765),
        }
        asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    assert told[0]["status"] == 408
