"""Live updates: a line that stays open and hears of every change."""

from __future__ import annotations

import json
import signal
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from serve.real import TOKEN, running
from serve.world import day


def next_message(response: Any) -> tuple[str, Any]:
    event, data = "", ""
    while (line := response.readline().decode().rstrip("\n")) or not event:
        if line.startswith("event: "):
            event = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
    return event, json.loads(data)


@pytest.mark.slow
def test_a_line_hears_of_changes_of_its_user_and_ends_with_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.ask("POST", "/api/v1/users/me/events", {"events": day(0, 5)})
        line = HTTPConnection("127.0.0.1", server.port, timeout=30)
        line.request("GET", "/api/v1/users/me/live", headers={"Authorization": f"Bearer {TOKEN}"})
        response = line.getresponse()
        assert response.getheader("Content-Type", "").startswith("text/event-stream")
        assert next_message(response)[1]["events"] == 10
        server.ask("POST", "/api/v1/users/other/events", {"events": day(0, 5)})
        server.ask("POST", "/api/v1/users/me/events", {"events": day(5, 5)})
        kind, told = next_message(response)
        assert (kind, told["events"]) == ("ranking", 20)
        assert {"app", "probability", "reasons"} == told["ranking"][0].keys()
        server.ask("POST", "/api/v1/users/me/imports", "no log")
        kind, told = next_message(response)
        assert (kind, told["name"], told["state"], told["stranger"]) == ("import", "log", "failed", True)
        assert next_message(response)[0] == "ranking"
        server.process.terminate()
        assert response.read() == b"", "the line is closed, and the server does not wait for it"
        server.process.join(20)
        assert server.process.exitcode == -signal.SIGTERM, "stopped in order, then by the signal"
        response.close()
        line.close()
