"""Disks, clocks and feeds as they are: what happens then is written in docs/security.md."""

from __future__ import annotations

import os
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from serve.world import MONDAY, core_of, day, event, ranking, send, serving
from stap import Predictor
from stap.errors import BadInput
from stap.serve import core, run
from stap.serve.core import Core, Settings
from stap.serve.salvage import salvage
from stap.serve.store import FILE
from stap.serve.writer import MOVED_AFTER

TABLE_LEAF = 13  # the first byte of a page of SQLite that holds rows


def on_the_writer(client: TestClient, statement: str) -> None:
    """Run on the connection that writes."""
    writer = core_of(client).writer
    writer._db.execute(statement)


@pytest.mark.parametrize(
    ("breaks", "mends", "word"),
    [
        ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "full"),
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "readonly"),
    ],
    ids=["a full disk", "a read-only disk"],
)
def test_a_disk_that_takes_nothing_refuses_events_and_answers_on(
    tmp_path: Path, breaks: str, mends: str, word: str
) -> None:
    many = [{**each, "id": "n" + each["id"], "app": 200 * "x"} for each in day(30, 400)]
    with serving(tmp_path) as client:
        send(client, day())
        before = ranking(client)
        on_the_writer(client, breaks)
        refused = client.post("/api/v1/users/me/events", json={"events": many})
        assert refused.status_code == 503
        assert word in refused.json()["error"]["why"]
        assert ranking(client) == before
        on_the_writer(client, mends)
        assert send(client, many) == {"accepted": 800, "known": 0}
        assert ranking(client)["events"] == 840


def test_the_log_of_changes_is_begun_anew_while_events_keep_coming(tmp_path: Path) -> None:
    """Nobody stops writing, so no pass finds the log at rest; it must not grow for ever all the same."""
    log = tmp_path / f"{FILE}-wal"
    with serving(tmp_path) as client:
        send(client, day())
        writer, sizes = core_of(client).writer, list[int]()
        for _ in range(12 * MOVED_AFTER):
            writer.submit(lambda db: db.execute("UPDATE users SET events = events + 1")).result()
            sizes.append(log.stat().st_size)
        page = 4096  # a commit writes one at least
        assert max(sizes) < 12 * MOVED_AFTER * page / 2


def test_a_session_that_could_not_learn_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        ranking(client)
        send(client, day(20, 5))

        def refused(*_: object) -> None:
            raise BadInput("events", "no memory", "restore a snapshot or replay the log")

        with monkeypatch.context() as patch:
            patch.setattr(Predictor, "observe_all", refused)
            assert client.get("/api/v1/users/me/ranking").status_code != 200
        after = ranking(client)
    with serving(tmp_path / "other") as client:
        send(client, day(0, 25))
        assert after == ranking(client)


def test_a_damaged_snapshot_is_thrown_away_and_made_again(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        wanted = ranking(client)
    (state,) = (tmp_path / "sessions").glob("*.state")
    whole = state.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], whole[:100] + b"\xff" * 50 + whole[150:], os.urandom(len(whole))):
        for path in (tmp_path / "sessions").glob("*.state"):
            path.write_bytes(damage)
        with serving(tmp_path) as client:
            assert ranking(client) == wanted
    for path in (tmp_path / "sessions").glob("*.state"):
        path.unlink()
    with serving(tmp_path) as client:
        assert ranking(client) == wanted


def test_a_snapshot_with_damaged_counts_is_made_again(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        wanted = client.get("/api/v1/users/me/statistics").json()["apps"]
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE snapshots SET habits = replace(habits, '[', '{')")
    db.close()
    with serving(tmp_path) as client:
        assert client.get("/api/v1/users/me/statistics").json()["apps"] == wanted


def test_a_damaged_page_is_noticed_at_the_start_and_the_rest_is_salvaged(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for part in range(5):
            send(client, day(100 * part, 100))
        ranking(client)
    path = tmp_path / FILE
    data, page = bytearray(path.read_bytes()), 4096
    leaves = [at for at in range(page, len(data), page) if data[at] == TABLE_LEAF and b"e500" in data[at : at + page]]
    data[leaves[0] : leaves[0] + page] = os.urandom(page)
    path.write_bytes(data)
    with pytest.raises(BadInput, match="damaged; stap serve --salvage"):
        Core(Settings(tmp_path))
    saved, aside = salvage(tmp_path)
    assert 700 < saved < 1000
    assert aside.read_bytes()[:page] == bytes(data[:page])
    with serving(tmp_path) as client:
        assert ranking(client)["events"] == saved
        assert send(client, day(0, 400)).keys() == {"accepted", "known"}  # a feed that repeats fills the gap
        send(client, day(400, 100))
        assert ranking(client)["events"] == 1000


def test_a_store_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else entirely, and long enough to be read" * 99)
    with pytest.raises(BadInput, match="damaged"):
        Core(Settings(tmp_path))


def test_a_clock_that_goes_back_changes_nothing_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as client:
        send(client, day(0, 20))
        monkeypatch.setattr(core, "local_now", lambda: MONDAY - timedelta(days=3))
        refused = client.post("/api/v1/users/me/events", json={"events": [event(900, "Mail", 600)]})
        assert refused.status_code == 400  # it would lie days ahead
        assert ranking(client)["events"] == 40
        early = [{**each, "id": "x" + each["id"], "at": _earlier(each["at"])} for each in day(0, 20)]
        assert send(client, early)["accepted"] == 40
        told = client.get("/api/v1/users/me/history", params={"limit": 500}).json()["usages"]
    starts = [usage["start"] for usage in told]
    assert starts == sorted(starts, reverse=True)
    assert len(starts) == 40


def _earlier(at: str) -> str:
    return (datetime.fromisoformat(at) - timedelta(days=3)).isoformat()


def test_a_journey_keeps_the_order_and_moves_the_hours(tmp_path: Path) -> None:
    """08:00 in Berlin is before 03:00 in New York, on the same morning."""
    berlin = {"id": "1", "kind": "opened", "app": "Mail", "at": "2026-03-02T08:00:00+01:00"}
    york = {"id": "2", "kind": "opened", "app": "Chat", "at": "2026-03-02T03:00:00-05:00"}
    with serving(tmp_path) as client:
        send(client, [york, berlin])
        told = client.get("/api/v1/users/me/history").json()["usages"]
        week = client.get("/api/v1/users/me/statistics").json()["week"]
    assert [(usage["app"], usage["start"]) for usage in told] == [("Chat", york["at"]), ("Mail", berlin["at"])]
    assert (week[0][8], week[0][3]) == (1, 1)


def test_a_feed_that_repeats_and_reorders_makes_the_same_history(tmp_path: Path) -> None:
    events = day(0, 60)
    pieces: list[list[dict[str, Any]]] = [events[first : first + 30] for first in range(0, 120, 15)]
    with serving(tmp_path / "feed") as client:
        for piece in [*pieces[::-2], *pieces, *pieces[::2]]:
            send(client, piece)
            ranking(client)
        found = ranking(client, k=9), client.get("/api/v1/users/me/history", params={"limit": 99}).json()
    with serving(tmp_path / "once") as client:
        send(client, events)
        assert found == (ranking(client, k=9), client.get("/api/v1/users/me/history", params={"limit": 99}).json())


def test_sessions_beyond_the_budget_wait_on_the_disk_and_come_back(tmp_path: Path) -> None:
    users = [f"user{number}" for number in range(6)]
    with serving(tmp_path, memory=1) as client:
        wanted = {}
        for user in users:
            send(client, day(0, 70), user)
            wanted[user] = ranking(client, user)
        server = core_of(client)
        server.sessions._keeping.submit(int).result()  # whoever has to go has gone
        assert server.sessions.bytes <= 1 << 20
        assert 1 <= len(server.sessions) < len(users)
        assert {user: ranking(client, user) for user in users} == wanted


def test_one_folder_has_one_server(tmp_path: Path) -> None:
    with run.alone(tmp_path), pytest.raises(BadInput, match="another `stap serve` has it"), run.alone(tmp_path):
        pass


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with run.bound(0) as listener, pytest.raises(BadInput, match="choose another with --port"):
        run.bound(listener.getsockname()[1])


def test_somebody_new_is_told_that_there_is_nothing_yet(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        answer = client.get("/api/v1/users/me/ranking")
        assert answer.status_code == 404
