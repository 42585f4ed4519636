"""A server in a folder of its own, and events to send to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from stap.serve.app import make_app
from stap.serve.core import Core, Settings
from stap.serve.limits import Limits

TOKEN = "t" * 43
BASE = "http://127.0.0.1:8765"
MONDAY = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
APPS = ("Mail", "Chat", "Maps", "Music", "News")


def event(number: int, app: str, minutes: float, kind: str = "opened") -> dict[str, Any]:
    return {"id": f"e{number}", "kind": kind, "app": app, "at": (MONDAY + timedelta(minutes=minutes)).isoformat()}


def day(first: int = 0, launches: int = 20) -> list[dict[str, Any]]:
    """Launches of two minutes, three minutes apart: opens and closes."""
    found = []
    for number in range(first, first + launches):
        app = APPS[number * number % len(APPS)]
        found.append(event(2 * number, app, 3.0 * number))
        found.append(event(2 * number + 1, app, 3.0 * number + 2, "closed"))
    return found


@contextmanager
def serving(
    folder: Path, limits: Limits | None = None, memory: int = 64, token: str | None = TOKEN
) -> Iterator[TestClient]:
    """A client of a server over the folder, with the token unless another is given."""
    app = make_app(Core(Settings(folder, memory=memory)), TOKEN, limits or Limits(a_second=1e6, at_once=1e6))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with TestClient(app, base_url=BASE, headers=headers, follow_redirects=False) as client:
        yield client


def core_of(client: TestClient) -> Core:
    """What the client's server has open."""
    core: Core = client.app.app.app.state.core  # type: ignore[attr-defined] # behind the guard and the short way
    return core


def send(client: TestClient, events: list[dict[str, Any]], user: str = "me") -> dict[str, int]:
    response = client.post(f"/api/v1/users/{user}/events", json={"events": events})
    assert response.status_code == 200, response.text
    taken: dict[str, int] = response.json()
    return taken


def ranking(client: TestClient, user: str = "me", minutes: float = 10_000.0, **params: Any) -> Any:
    at = (MONDAY + timedelta(minutes=minutes)).isoformat()
    response = client.get(f"/api/v1/users/{user}/ranking", params={"at": at, **params})
    assert response.status_code == 200, response.text
    return response.json()
