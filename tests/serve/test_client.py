"""The Python client, `stap top` and `stap watch`, beside a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest
from cli.made import call

from serve.running import running
from stap.errors import BadInput
from stap.predictor import Predictor
from stap.serve import watch as watching
from stap.serve.client import Client
from stap.serve.watch import Judge, arguments, command_of
from stap.serve.wire import Away, Place

MONDAY = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DAY = ["Mail", "Chat", "Mail", "Maps", "Mail", "Chat", "Mail", "Chat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("served")
    with running(path) as client:
        rows = [
            {
                "id": str(number),
                "kind": "opened",
                "app": app,
                "at": (MONDAY + number * timedelta(minutes=3)).isoformat(),
            }
            for number, app in enumerate(DAY)
        ]
        assert (client.send(rows), client.send(rows)) == (len(DAY), 0)
        yield path


def test_three_lines_give_the_ranking_that_a_predictor_gives(folder: Path) -> None:
    client = Client("three", data=folder)
    client.opened("Mail", MONDAY)
    ranked = client.rank(5, at=MONDAY + timedelta(hours=1))
    alone = Predictor.load(user="three")
    alone.opened("Mail", MONDAY)
    assert ranked == alone.rank(5, at=MONDAY + timedelta(hours=1))


def test_candidates_hidden_ones_reasons_and_live_rankings(folder: Path) -> None:
    client, at = Client(data=folder), MONDAY + timedelta(minutes=30)
    assert {app for app, _ in client.rank(5, at)} == {"Mail", "Chat", "Maps"}
    assert [app for app, _ in client.rank(5, at, among=["Maps", "Nothing"])] == ["Maps"]
    assert {app for app, _ in client.rank(5, at, without=["Mail"])} == {"Chat", "Maps"}
    assert all(isinstance(sentence, str) for sentence in client.why("Mail", at))
    lines = client.live(2)
    assert len(next(lines)) == 2
    lines.close()


def test_a_time_without_a_zone_is_this_machine_s(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, at = Client("zones", data=folder), datetime(2026, 3, 2, 8, 0)
    client.opened("Mail", at)
    with_zone = at.astimezone()
    assert client.rank(1, at + timedelta(hours=1)) == client.rank(1, with_zone + timedelta(hours=1))


@pytest.mark.parametrize("app", ["a b&c=d", "Ünïcode 日本", "50% off?", "a/b#c", '"quoted"', "-dash", "🦊"])
def test_any_name_survives_the_way_there_and_back(folder: Path, app: str) -> None:
    client = Client("names", data=folder)
    client.opened(app, MONDAY)
    client.closed(app, MONDAY)
    client.notified(app, MONDAY)
    assert client.rank(1, MONDAY + timedelta(hours=1), among=[app])[0][0] == app
    assert isinstance(client.why(app, MONDAY + timedelta(hours=1)), list)


def test_what_is_wrong_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    client = Client(data=folder)
    with pytest.raises(BadInput, match=r"\S+: .*; \S+"):
        client.opened("")
    with pytest.raises(BadInput, match="token: missing or wrong"):
        Client(data=folder, token="x" * 43).rank()
    with pytest.raises(BadInput, match="no server has run here; start `stap serve`"):
        Client(data=tmp_path)
    with pytest.raises(Away, match="does not answer"):
        Client(url="http://127.0.0.1:9", token="x").rank()


@pytest.mark.parametrize("url", ["https://x", "127.0.0.1:80", "http://", "http://x:port", "http://u:p@x", "http://x?y"])
def test_what_is_no_address_gets_one_line(url: str) -> None:
    with pytest.raises(BadInput, match="no address of a server; give one like"):
        Place.of(url)


def test_the_client_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """It is imported where fastapi, pydantic, numpy and the engine are not."""
    forbidden = ("fastapi", "pydantic", "uvicorn", "numpy", "polars", "httpx", "requests", "stap._engine")
    code = f"import sys, stap.serve.client; print([name for name in {forbidden!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_top_prints_names_one_a_line_for_a_menu(folder: Path) -> None:
    done = call("top", "-k", "2", "--data", folder)
    assert done.exit_code == 0
    assert len(done.output.splitlines()) == 2
    assert set(done.output.splitlines()) < {"Mail", "Chat", "Maps"}


def test_top_puts_likely_ones_of_a_list_first_and_keeps_the_rest_in_order(folder: Path, tmp_path: Path) -> None:
    menu = tmp_path / "menu"
    menu.write_text("zebra\nmaps\nant\nMAIL\n")
    done = call("top", "--list", menu, "--data", folder)
    assert done.output.splitlines()[2:] == ["zebra", "ant"]
    assert set(done.output.splitlines()[:2]) == {"maps", "MAIL"}


def test_without_a_server_a_list_comes_out_as_it_went_in_and_a_bare_top_says_why(tmp_path: Path) -> None:
    menu = tmp_path / "menu"
    menu.write_text("b\na\n")
    done = call("top", "--list", menu, "--data", tmp_path)
    assert done.stdout.splitlines() == ["b", "a"]
    assert isinstance(call("top", "--data", tmp_path).exception, BadInput)


class TestJudge:
    def test_only_a_change_that_passes_the_threshold_is_told(self) -> None:
        judge = Judge(0.5, 10.0)
        assert not judge.wants(None)
        assert not judge.wants(("Mail", 0.49))
        assert judge.wants(("Mail", 0.5))
        judge.tells(("Mail", 0.5), now=100.0)
        assert not judge.wants(("Mail", 0.9))
        assert not judge.wants(("Chat", 0.1))
        assert judge.wants(("Chat", 0.6))
        assert not judge.wants(("Mail", 0.9))  # of which the command has heard
        assert judge.due == 110.0


@pytest.mark.parametrize(
    ("command", "app", "given"),
    [
        ("echo", "a; rm -rf ~", ["echo", "a; rm -rf ~"]),
        ("echo --app={} {}", "$(id)`id`", ["echo", "--app=$(id)`id`", "$(id)`id`"]),
        ("echo --app={}", "-rf", ["echo", "--app=-rf"]),
        ("echo 'two words'", "x y", ["echo", "two words", "x y"]),
        ("echo", "--help", None),
    ],
)
def test_an_app_s_name_is_one_argument_whatever_is_in_it(command: str, app: str, given: list[str] | None) -> None:
    assert arguments(command_of(command), app) == given


@pytest.mark.parametrize("text", ["", "no-such-program-here x", "echo 'open"])
def test_what_is_no_command_gets_one_line(text: str) -> None:
    with pytest.raises(BadInput, match="--exec"):
        command_of(text)


RECORDS = """#!{python}
import json, os, sys
with open({out!r}, "a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ["STAP_APP"], os.environ["STAP_USER"],
                           float(os.environ["STAP_PROBABILITY"])]) + chr(10))
"""


def test_watch_runs_a_command_as_the_top_changes_and_never_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile name, many changes, a server that goes away and comes back."""
    began: list[float] = []
    real = subprocess.run

    def timed(*args: Any, **options: Any) -> Any:
        began.append(monotonic())
        return real(*args, **options)

    monkeypatch.setattr(subprocess, "run", timed)
    ran, program, data = tmp_path / "ran", tmp_path / "record", tmp_path / "data"
    program.write_text(RECORDS.format(python=sys.executable, out=str(ran)))
    program.chmod(0o755)
    data.mkdir()
    hostile, stop = "$(touch /tmp/x); `id` | 'q\"", Event()
    with running(data) as client:
        port = client._place.port
        client.opened(hostile, datetime.now(UTC) - timedelta(hours=1))
        args = (Client(data=data), "me", [str(program), "--now"], Judge(0.0, 1.0), stop)
        thread = Thread(target=watching.watch, args=args)
        thread.start()
        _until(lambda: ran.exists() and len(ran.read_text().splitlines()) == 1)
        for number in range(12):  # a dozen changes within a moment
            client.opened(f"app {number}", datetime.now(UTC) - timedelta(minutes=50 - number))
            sleep(0.05)
    with running(data, port=port) as client:
        client.opened("after", datetime.now(UTC))
        _until(lambda: len(ran.read_text().splitlines()) >= 2)
        sleep(0.3)
        stop.set()
        thread.join(30)
    runs = [json.loads(line) for line in ran.read_text().splitlines()]
    assert runs[0][:3] == [["--now", hostile], hostile, "me"]
    assert all(0 <= run[3] <= 1 for run in runs)
    assert all(later[1] != earlier[1] for earlier, later in pairwise(runs))
    assert len(began) == len(runs)
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(began))


def _until(holds: Callable[[], bool]) -> None:
    begin = monotonic()
    while not holds():
        assert monotonic() - begin < 60, "it never came to be"
        sleep(0.05)
