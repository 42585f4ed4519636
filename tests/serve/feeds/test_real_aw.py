"""A real aw-server from its registry package, on the loopback, and watchers that write to it as the real ones do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import gethostname, socket
from time import monotonic, sleep
from typing import Any

import pytest

from serve.running import running
from stap.serve.client import Client
from stap.serve.feeds.aw import ActivityWatch
from stap.serve.feeds.marks import Marks
from stap.serve.wire import Away, Place
from stap.sources import Options, read_piece

pytestmark = pytest.mark.slow
PINNED = Path(__file__).with_name("aw-server.txt")
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Path:
    """aw-server in a virtual environment of its own, kept for the next run: its pins are not ours."""
    place = request.config.cache.mkdir("aw-server")
    python, done = place / "bin" / "python", place / "installed"
    if not done.exists() or done.read_text() != PINNED.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(place)], check=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-deps",
            "-r",
            str(PINNED),
        ]
        subprocess.run(pip, check=True, timeout=600)
        done.write_text(PINNED.read_text())
    return place / "bin" / "aw-server"


def free_port() -> int:
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def watching(program: Path, home: Path, port: int) -> Iterator[Place]:
    """The server over the database in a home, until it is ended."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHON"))}
    command = [str(program), "--host", "127.0.0.1", "--port", str(port)]
    log = open(home / "log", "ab")  # noqa: SIM115 - closed below
    process = subprocess.Popen(command, env=outside | {"HOME": str(home)}, stdout=log, stderr=log)
    place = Place.of(f"http://127.0.0.1:{port}")
    try:
        until(lambda: _answers(place))
        yield place
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _answers(place: Place) -> bool:
    try:
        return bool(place.get_json("/api/0/info"))
    except Away:
        return False


def until(holds: Callable[[], bool]) -> None:
    begin = monotonic()
    while not holds():
        assert monotonic() - begin < 90, "it never came to be"
        sleep(0.1)


def window(app: str) -> dict[str, str]:
    return {"app": app, "title": "secret"}


def bucket(place: Place, watcher: str, kind: str, host: str) -> str:
    name = f"aw-watcher-{watcher}_{host}"
    about = {"client": f"aw-watcher-{watcher}", "type": kind, "hostname": host}
    place.ask("POST", f"/api/0/buckets/{name}", JSON, json.dumps(about).encode())
    return name


def write(place: Place, name: str, *events: tuple[datetime, float, dict[str, str]]) -> None:
    rows = [{"timestamp": at.isoformat(), "duration": lasts, "data": data} for at, lasts, data in events]
    place.ask("POST", f"/api/0/buckets/{name}/events", JSON, json.dumps(rows).encode())


def beat(place: Place, name: str, data: dict[str, str], at: datetime) -> None:
    """A heartbeat, as watchers send every second: the same again makes the last event longer."""
    body = {"timestamp": at.isoformat(), "duration": 0, "data": data}
    place.ask("POST", f"/api/0/buckets/{name}/heartbeat?pulsetime=30", JSON, json.dumps(body).encode())


def history(client: Client) -> list[dict[str, Any]]:
    answer = client._place.ask("GET", f"{client._user}/history?limit=1000", client._headers)
    found: list[dict[str, Any]] = json.loads(answer)["usages"]
    return found[::-1]


def opened(client: Client) -> list[str]:
    try:
        return [each["app"] for each in history(client)]
    except Exception:  # nobody of that name yet
        return []


def test_a_desktop_is_followed_from_its_past_to_its_next_window(program: Path, tmp_path: Path) -> None:
    """The whole way: aw-server, the feed, our server, its client; both servers go away and come back."""
    home, data, port, here = tmp_path / "home", tmp_path / "data", free_port(), gethostname()
    home.mkdir()
    data.mkdir()
    now = datetime.now(UTC)

    def feed() -> ActivityWatch:
        return ActivityWatch("me", Marks(tmp_path / "marks.json"), f"http://127.0.0.1:{port}", "UTC", every=0.2)

    with watching(program, home, port) as aw:
        windows = bucket(aw, "window", "currentwindow", here)
        away = bucket(aw, "afk", "afkstatus", here)
        phone = bucket(aw, "android-test", "currentwindow", "pixel")
        past = [(now - timedelta(days=40) + n * timedelta(minutes=3), 120.0, window(f"Old {n % 3}")) for n in range(9)]
        write(aw, windows, *past, (now - timedelta(hours=2), 3600.0, window("Film")))
        write(aw, away, (now - timedelta(minutes=100), 1800.0, {"status": "afk"}))
        write(aw, phone, (now - timedelta(hours=1), 60.0, {"app": "Chat", "package": "com.chat", "classname": "x"}))
        with running(data, [feed()]) as client:
            until(lambda: len(opened(client)) == 11)
            film = [each for each in history(client) if each["app"] == "Film"]
            assert [_minutes(now, each) for each in film] == [(-120, -100), (-70, -60)]  # nobody was there in between
            until(lambda: opened(Client("pixel", data=data)) == ["com.chat"])
            beat(aw, windows, window("Editor"), datetime.now(UTC))
            until(lambda: opened(client)[-1:] == ["Editor"])
            beat(aw, windows, window("Browser"), datetime.now(UTC) + timedelta(seconds=1))
            until(lambda: opened(client)[-1:] == ["Browser"])
            before = history(client)
            assert {app for app, _ in client.rank(3)} <= {each["app"] for each in before}
        with running(data, [feed()]) as client:  # the marks lead on; even without them nothing would be there twice
            beat(aw, windows, window("Terminal"), datetime.now(UTC) + timedelta(seconds=2))
            until(lambda: opened(client)[-1:] == ["Terminal"])
            assert history(client)[: len(before) - 1] == before[:-1]
    with running(data, [feed()]) as client:
        sleep(0.5)  # aw-server is away
        with watching(program, home, port) as aw:
            beat(aw, windows, window("Mail"), datetime.now(UTC) + timedelta(seconds=3))
            until(lambda: opened(client)[-1:] == ["Mail"])
    (tmp_path / "marks.json").unlink()
    with watching(program, home, port) as aw:
        with running(data, [feed()]) as client:
            sleep(3.0)
            again = history(client)
        assert again[: len(before) - 1] == before[:-1]
        exported = aw.ask("GET", f"/api/0/buckets/{windows}/export", {})
        whole = read_piece(exported, "me", "activitywatch", Options(zone="UTC"))
        assert {each["app"] for each in again} == set(whole.table["app"])


def _minutes(now: datetime, usage: dict[str, Any]) -> tuple[int, int]:
    start, end = (round((datetime.fromisoformat(usage[edge]) - now).total_seconds() / 60) for edge in ("start", "end"))
    return start, end
