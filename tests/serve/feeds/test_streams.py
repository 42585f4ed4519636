"""Standard input and replays: what comes once is held until it is taken."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from sources.made import LSAPP, PLAIN

from serve.feeds.made import Server
from stap.errors import BadInput
from stap.serve.feeds import base
from stap.serve.feeds.lines import Lines
from stap.serve.feeds.replay import Replay, moved
from stap.serve.models import EventIn
from stap.sources import Options

GOOD = {"kind": "opened", "app": "Mail", "at": "2026-03-03T08:00:00+01:00"}


def fed(*pieces: bytes, server: Server | None = None) -> Server:
    """What becomes of these pieces on standard input, each written alone."""
    server, (reads, writes) = server or Server(), os.pipe()
    with open(reads, "rb") as stream:
        feed = Lines("me", stream)
        thread = Thread(target=feed.run, args=(server.send, Event()))
        thread.start()
        for piece in pieces:
            os.write(writes, piece)
        os.close(writes)
        thread.join(20)
        assert feed.state == "finished"
    return server


def line(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode() + b"\n"


def test_lines_become_events_of_whom_they_name() -> None:
    server = fed(line() + line(user="phone", app="Chat") + line(kind="closed", at="2026-03-03T08:01:00+01:00"))
    assert server.said() == [("opened", "Mail", "08:00:00"), ("closed", "Mail", "08:01:00")]
    assert server.said("phone") == [("opened", "Chat", "08:00:00")]


def test_repeated_and_reordered_lines_are_there_once_in_the_order_of_time() -> None:
    later = line(kind="closed", at="2026-03-03T07:01:00+00:00")
    server = fed(later + line() + line() + line(at="2026-03-03T07:00:00+00:00") + later)
    assert server.said() == [("opened", "Mail", "08:00:00"), ("closed", "Mail", "07:01:00")]


def test_an_id_of_one_s_own_is_kept() -> None:
    assert list(fed(line(id="mine"), line(id="mine", app="Chat")).events["me"]) == ["mine"]


def test_lines_may_come_in_pieces_and_the_last_may_lack_its_end() -> None:
    whole = line() + line(app="Chat").rstrip()
    assert len(fed(whole[:10], whole[10:11], whole[11:]).said()) == 2


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{\n", "no JSON"),
        (b"[]\n", "no object"),
        (b"\xff\xfe\n", "no JSON"),
        (b"[" * 50_000 + b"\n", ""),
        (b"x" * 200_000 + line(), "more than 64 KB"),
        (line(kind="used"), "kind"),
        (line(app=""), "app"),
        (line(at="2026-03-03T08:00:00"), "at"),
        (line(at="yesterday"), "at"),
        (line(more=1), "more"),
        (line(user="a/b"), "a user is"),
        (line(user=7), "a user is"),
    ],
)
def test_a_bad_line_is_named_and_passed_over(bad: bytes, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    server = fed(line() + bad + line(app="Chat"))
    assert len(server.said()) == 2
    said = capsys.readouterr().err
    assert "standard input, row 2: " in said
    assert why in said
    assert "write lines like" in said


def test_what_the_server_cannot_take_is_held_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "LONGEST_WAIT", 0.01)
    server = Server()
    taken = server.send

    def send(user: str, events: list[EventIn]) -> None:
        server.away = server.calls < 2
        taken(user, events)

    monkeypatch.setattr(server, "send", send)
    assert len(fed(line(), server=server).said()) == 1
    assert server.calls == 3


def play(log: Path, speed: float, live: timedelta = timedelta.max) -> tuple[Server, Replay]:
    server, feed = Server(), Replay("me", [log], speed, Options(zone="UTC"), live)
    feed.run(server.send, Event())
    assert feed.state == "finished"
    return server, feed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(PLAIN)  # a Wednesday
    return path


def test_a_replay_keeps_hours_and_weekdays_and_ends_within_a_week_before_now(log: Path) -> None:
    server, feed = play(log, 1e6)
    assert [at for _, _, at in server.said()] == ["08:00:00", "08:02:00", "08:03:00", "08:04:00"]
    assert {each.at.weekday() for each in server.events["me"].values()} == {2}
    assert feed.last is not None
    assert timedelta() <= datetime.now(UTC) - feed.last < timedelta(weeks=1)


def test_a_replay_that_is_started_again_says_nothing_new(log: Path) -> None:
    first, _ = play(log, 1e6)
    again, _ = play(log, 1e5)
    assert list(first.events["me"]) == list(again.events["me"])


def test_events_come_in_order_and_not_before_their_time(log: Path) -> None:
    server, begin = Server(), datetime.now(UTC)
    came: list[tuple[str, timedelta]] = []

    def send(user: str, events: list[EventIn]) -> None:
        server.send(user, events)
        came.extend((event.kind, datetime.now(UTC) - begin) for event in events)

    Replay("me", [log], 1200.0, Options(zone="UTC")).run(send, Event())  # four minutes in 0.2 s
    assert [kind for kind, _ in came] == ["opened", "closed", "opened", "closed"]
    assert came[-1][1] >= timedelta(seconds=0.1)  # 0.2 less what is sent together


def test_what_came_before_the_live_part_is_there_at_once(log: Path) -> None:
    server, _ = play(log, 1e3, live=timedelta(minutes=1))
    assert (server.calls, len(server.said())) == (2, 4)


def test_several_people_are_replayed_each_under_a_name_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "lsapp.tsv").write_text(LSAPP)
    server, _ = play(tmp_path / "lsapp.tsv", 1e9)
    assert set(server.events) == {"7", "8"}


def test_a_replay_stops_when_it_is_told_to(log: Path) -> None:
    feed, stop, server = Replay("me", [log], 1.0), Event(), Server()
    thread = Thread(target=feed.run, args=(server.send, stop))
    thread.start()
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert feed.state == "stopped"


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_speed_gets_one_line(log: Path, speed: float) -> None:
    with pytest.raises(BadInput, match="no speed"):
        Replay("me", [log], speed)


def test_slower_than_life_nothing_is_told_of_the_future(log: Path) -> None:
    feed, now = Replay("me", [log], 0.01, Options(zone="UTC")), datetime.now(UTC)
    turns = moved(feed._turns, now, 0.01)
    first = turns[0][0]
    for at, _, event in turns:
        assert event.at <= now + (at - first) / 0.01
