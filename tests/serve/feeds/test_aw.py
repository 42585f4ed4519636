"""ActivityWatch: a stand-in answers as aw-server does, also cutting what began before; the real one is asked below."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import gethostname
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.feeds.made import SECOND, Server, look, marks, utc
from stap.errors import BadInput
from stap.serve.feeds.aw import ActivityWatch
from stap.serve.feeds.marks import Marks
from stap.serve.wire import Away, Place

EIGHT = utc("2026-03-03 08:00:00")
HERE = gethostname()


class StandIn:
    """Buckets in memory, and answers as aw-server 0.12 gives them."""

    def __init__(self) -> None:
        self.buckets: dict[str, dict[str, Any]] = {}
        self.away = False
        self.asked = 0

    def wrote(
        self, seconds: float, lasts: float, app: str, watcher: str = "window", host: str = HERE, kind: str | None = None
    ) -> None:
        """An event, or a longer form of the one that began then, as heartbeats make it."""
        afk = watcher == "afk"
        bucket = self.buckets.setdefault(
            f"aw-watcher-{watcher}_{host}",
            {"type": kind or ("afkstatus" if afk else "currentwindow"), "hostname": host, "events": {}},
        )
        data = {"status": app} if afk else {"app": app, "title": "secret"}
        bucket["events"][seconds] = (EIGHT + seconds * SECOND, lasts * SECOND, data)

    def ask(self, method: str, path: str, headers: object, body: bytes | None = None) -> bytes:
        self.asked += 1
        if self.away:
            raise Away("http://127.0.0.1:5600", "does not answer (Connection refused)", "start it")
        if path == "/api/0/buckets/":
            return json.dumps({name: {**bucket, "events": None} for name, bucket in self.buckets.items()}).encode()
        parts = urlsplit(path)
        span = {name: datetime.fromisoformat(values[0]) for name, values in parse_qs(parts.query).items()}
        bucket = self.buckets[unquote(parts.path.split("/")[4])]
        return json.dumps(list(_cut(bucket["events"].values(), span))).encode()


def _cut(events: Any, span: dict[str, datetime]) -> Any:
    low, high = span["start"], span.get("end", datetime.max.replace(tzinfo=UTC))
    for at, lasts, data in sorted(events, key=lambda event: event[0], reverse=True):
        if at + lasts >= low and at <= high:
            begin, end = max(at, low), min(at + lasts, high)
            yield {"id": 1, "timestamp": begin.isoformat(), "duration": (end - begin).total_seconds(), "data": data}


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(Place, "ask", lambda self, *question: stand_in.ask(*question))
    return stand_in


def feed(kept: Marks) -> ActivityWatch:
    return ActivityWatch("me", kept, zone="UTC")


def test_windows_are_told_as_they_change_and_closed_when_nobody_is_there(watch: StandIn) -> None:
    server, kept = Server(), marks()
    watch.wrote(0, 5, "Editor")
    look(feed(kept), server, EIGHT + 6 * SECOND)
    assert server.said() == [("opened", "Editor", "08:00:00")]
    watch.wrote(0, 100, "Editor")
    watch.wrote(100, 2, "Browser")
    look(feed(kept), server, EIGHT + 103 * SECOND)
    assert server.said()[1:] == [("closed", "Editor", "08:01:40"), ("opened", "Browser", "08:01:40")]
    watch.wrote(100, 500, "Browser")
    watch.wrote(0, 150, "not-afk", "afk")
    watch.wrote(150, 450, "afk", "afk")  # told three minutes later, from when the keys were last touched
    look(feed(kept), server, EIGHT + 600 * SECOND)
    assert server.said()[3:] == [("closed", "Browser", "08:02:30")]
    watch.wrote(100, 505, "Browser")  # watchers of windows write every second, those of keys every five
    look(feed(kept), server, EIGHT + 605 * SECOND)
    assert server.said()[4:] == []
    watch.wrote(600, 60, "not-afk", "afk")
    watch.wrote(100, 560, "Browser")
    look(feed(kept), server, EIGHT + 661 * SECOND)
    assert server.said()[4:] == [("opened", "Browser", "08:10:00")]


def test_other_hosts_are_users_of_their_own_and_phones_count_too(watch: StandIn) -> None:
    watch.wrote(0, 5, "Editor")
    watch.wrote(0, 5, "Mail", host="my laptop (old)")
    watch.wrote(0, 5, "Chat", watcher="android-test", host="unknown")
    watch.wrote(0, 5, "https://secret", watcher="web", host=HERE, kind="web.tab.current")
    watch.wrote(0, 5, "afk", watcher="afk", host="only-afk")
    server = Server()
    look(feed(marks()), server, EIGHT + 300 * SECOND)
    assert set(server.events) == {"me", "my-laptop-old-"}
    assert {app for _, app, _ in server.said()} == {"Editor", "Chat"}


def test_a_first_look_goes_back_a_year_and_a_second_one_only_to_the_mark(watch: StandIn, tmp_path: Path) -> None:
    server, path = Server(), tmp_path / "marks.json"
    watch.wrote(-400 * 86400, 60, "Long ago")
    watch.wrote(-300 * 86400, 60, "Then")
    watch.wrote(-86400, 60, "Yesterday")
    watch.wrote(0, 60, "Now")
    look(feed(Marks(path)), server, EIGHT + 200 * SECOND)
    assert [app for kind, app, _ in server.said() if kind == "opened"] == ["Then", "Yesterday", "Now"]
    first, watch.asked = watch.asked, 0
    look(feed(Marks(path)), server, EIGHT + 300 * SECOND)
    assert watch.asked == 2 < first


def test_a_usage_over_the_border_of_two_pieces_is_one(watch: StandIn) -> None:
    server = Server()
    watch.wrote(-10 * 86400, 9.5 * 86400, "Film")
    watch.wrote(-86400 / 2, 60, "Mail")
    look(feed(marks()), server, EIGHT + 300 * SECOND)
    assert [(kind, app) for kind, app, _ in server.said()] == [
        ("opened", "Film"),
        ("closed", "Film"),
        ("opened", "Mail"),
        ("closed", "Mail"),
    ]


def test_what_a_watcher_writes_late_or_out_of_order_is_told_and_nothing_twice(watch: StandIn) -> None:
    server, kept = Server(), marks()
    watch.wrote(300, 10, "Browser")
    look(feed(kept), server, EIGHT + 311 * SECOND)
    watch.wrote(0, 10, "Editor")
    watch.wrote(300, 10, "Browser")
    look(feed(kept), server, EIGHT + 320 * SECOND)
    assert server.said() == [
        ("opened", "Editor", "08:00:00"),
        ("closed", "Editor", "08:00:10"),
        ("opened", "Browser", "08:05:00"),
    ]


@pytest.mark.parametrize("back", [90, 3600, 86400 * 3])
def test_when_the_clock_is_put_back_events_go_on_from_there(watch: StandIn, back: int) -> None:
    server, kept = Server(), marks()
    watch.wrote(0, 60, "Editor")
    look(feed(kept), server, EIGHT + 200 * SECOND)
    watch.wrote(200 - back, 30, "Mail")
    look(feed(kept), server, EIGHT + (230 - back) * SECOND)
    assert ("opened", "Mail") in [(kind, app) for kind, app, _ in server.said()]


def test_one_event_from_the_far_future_neither_stops_nor_skips_the_others(watch: StandIn) -> None:
    server, kept = Server(), marks()
    watch.wrote(0, 60, "Editor")
    watch.wrote(4 * 365 * 86400, 60, "Never")
    look(feed(kept), server, EIGHT + 200 * SECOND)
    watch.wrote(200, 30, "Mail")
    look(feed(kept), server, EIGHT + 231 * SECOND)
    assert {app for _, app, _ in server.said()} == {"Editor", "Mail"}


def test_the_zone_of_today_gives_the_hours_of_today_and_the_same_ids(watch: StandIn) -> None:
    server = Server()
    watch.wrote(0, 60, "Editor")
    for zone in ("Europe/Berlin", "America/Lima"):
        look(ActivityWatch("me", marks(), zone=zone), server, EIGHT + 200 * SECOND)
    assert server.said() == [("opened", "Editor", "09:00:00"), ("closed", "Editor", "09:01:00")]
    assert {each.at.utcoffset() for each in server.events["me"].values()} == {timedelta(hours=1)}


def test_a_laptop_that_travels_is_in_its_new_zone_without_a_restart(
    watch: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, followed = Server(), ActivityWatch("me", marks())
    monkeypatch.setenv("TZ", "Europe/Berlin")
    watch.wrote(0, 60, "Editor")
    look(followed, server, EIGHT + 200 * SECOND)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    watch.wrote(300, 60, "Mail")
    look(followed, server, EIGHT + 500 * SECOND)
    assert server.said() == [
        ("opened", "Editor", "09:00:00"),
        ("closed", "Editor", "09:01:00"),
        ("opened", "Mail", "17:05:00"),
        ("closed", "Mail", "17:06:00"),
    ]


def test_the_hour_that_autumn_repeats_is_told_twice_as_it_was_lived(watch: StandIn) -> None:
    server, kept = Server(), marks()
    first = (utc("2026-10-25 00:30:00") - EIGHT).total_seconds()  # 2:30 in summer time
    for hour, app in ((0, "Editor"), (1, "Mail")):
        watch.wrote(first + 3600 * hour, 60, app)
        look(ActivityWatch("me", kept, zone="Europe/Berlin"), server, EIGHT + (first + 3600 * hour + 200) * SECOND)
    assert server.said() == [
        ("opened", "Editor", "02:30:00"),
        ("closed", "Editor", "02:31:00"),
        ("opened", "Mail", "02:30:00"),
        ("closed", "Mail", "02:31:00"),
    ]


def test_while_aw_server_or_our_own_is_away_nothing_is_lost(watch: StandIn) -> None:
    server, kept = Server(), marks()
    watch.wrote(0, 60, "Editor")
    watch.away = True
    with pytest.raises(Away):
        look(feed(kept), server, EIGHT + 100 * SECOND)
    watch.away, server.away = False, True
    with pytest.raises(BadInput, match="disk is full"):
        look(feed(kept), server, EIGHT + 200 * SECOND)
    server.away = False
    look(feed(kept), server, EIGHT + 300 * SECOND)
    assert server.said() == [("opened", "Editor", "08:00:00"), ("closed", "Editor", "08:01:00")]


@pytest.mark.parametrize("answer", [b"[]", b"<html>", b'{"x": [1]}', b"{" * 100_000])
def test_what_is_no_aw_server_gets_one_line(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    monkeypatch.setattr(Place, "ask", lambda self, *question: answer)
    server = Server()
    if answer.startswith(b'{"'):
        look(feed(marks()), server)
    else:
        with pytest.raises(BadInput, match="check the address"):
            look(feed(marks()), server)
    assert not server.events


SPANS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 30, 59, 60, 61, 400, 3000, 40000]),
        st.sampled_from([0, 0.5, 10, 200, 5000]),
        st.sampled_from(["A", "B", "loginwindow"]),
    ),
    min_size=1,
    max_size=15,
)


@settings(max_examples=20, deadline=None)
@given(SPANS, st.data())
def test_however_often_it_is_looked_at_the_same_is_told_as_by_one_look(
    spans: list[tuple[float, float, str]], data: st.DataObject
) -> None:
    """Looks at any times, at windows that grow meanwhile: with marks, and with one look at the end."""
    begun, now = [], 0.0
    for pause, lasts, app in spans:
        now += pause
        begun.append((now, lasts, app))
        now += lasts
    often, kept, watch = Server(), marks(), StandIn()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Place, "ask", lambda self, *question: watch.ask(*question))
        looks = sorted(data.draw(st.lists(st.floats(0, now), max_size=5)))
        for seconds in [*looks, now + 100]:
            for start, lasts, app in begun:
                if start <= seconds:
                    watch.wrote(start, min(lasts, seconds - start), app)
            look(feed(kept), often, EIGHT + seconds * SECOND)
        once = Server()
        look(feed(marks()), once, EIGHT + (now + 100) * SECOND)
    assert sorted(often.said()) == sorted(once.said())
