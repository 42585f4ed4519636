"""Logs become events: golden ones by hand, the same ids whoever tells, no close before it is final."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from sources.made import DUMPSYS, PLAIN

from serve.feeds.made import utc
from stap.serve.feeds.saying import Clock, event, event_id, told
from stap.sources import Imported, Options, read_piece

BERLIN = ZoneInfo("Europe/Berlin")
LONG_AFTER = datetime(2026, 6, 1, tzinfo=UTC)
HERE = Clock(BERLIN, BERLIN)


def said(read: Imported, now: datetime = LONG_AFTER, clock: Clock = HERE) -> list[tuple[str, str, str]]:
    (only,) = told(read, clock, now)
    return [(each.kind, each.app, each.at.isoformat()) for each in only.events]


def test_launches_become_opens_and_closes_with_the_offset_of_their_day() -> None:
    read = read_piece(PLAIN.encode(), "log", "plain", Options(as_user="me"))
    assert said(read) == [
        ("opened", "Mail", "2024-05-01T08:00:00+02:00"),  # two records within a minute are one launch
        ("closed", "Mail", "2024-05-01T08:02:00+02:00"),
        ("opened", "Chat", "2024-05-01T08:03:00+02:00"),
        ("closed", "Chat", "2024-05-01T08:04:00+02:00"),
    ]


def test_an_instant_opens_before_it_closes_and_an_app_goes_before_the_next_one_comes() -> None:
    rows = "app,start,end\nA,2024-05-01 08:00,2024-05-01 08:01\nB,2024-05-01 08:01,2024-05-01 08:01\n"
    kinds = [(kind, app) for kind, app, _ in said(read_piece(rows.encode(), "me", "plain"))]
    assert kinds == [("opened", "A"), ("closed", "A"), ("opened", "B"), ("closed", "B")]


@pytest.mark.parametrize(("seconds", "closes"), [(30, 1), (60, 1), (61, 2), (600, 2)])
def test_the_last_close_is_told_when_its_app_cannot_come_back_as_the_same_launch(seconds: int, closes: int) -> None:
    read = read_piece(PLAIN.encode(), "me", "plain")
    now = datetime(2024, 5, 1, 8, 4, tzinfo=BERLIN) + timedelta(seconds=seconds)
    assert sum(kind == "closed" for kind, _, _ in said(read, now)) == closes


def test_what_is_in_front_of_a_phone_is_not_closed_and_what_a_dump_ends_with_is_dark() -> None:
    now = datetime(2026, 5, 3, 20, 30, tzinfo=BERLIN)
    in_front = DUMPSYS.replace("ACTIVITY_PAUSED package=com.a", "NOTHING package=com.a")
    live = Options(until=datetime(2026, 5, 3, 20, 30))
    assert said(read_piece(in_front.encode(), "me", "dumpsys", live), now)[-1][:2] == ("opened", "com.a")
    assert said(read_piece(DUMPSYS.encode(), "me", "dumpsys", live), now)[-1][:2] == ("closed", "com.a")


def test_an_id_is_a_hash_of_kind_app_and_moment_in_any_zone() -> None:
    at = utc("2026-03-03 07:00:00")
    by_hand = sha256(b"opened\0Mail\0" + str(int(at.timestamp()) * 1_000_000).encode()).hexdigest()[:32]
    assert event_id("opened", "Mail", at) == by_hand == event_id("opened", "Mail", at.astimezone(BERLIN))
    assert len({event_id("closed", "Mail", at), event_id("opened", "Mail ", at), by_hand}) == 3


def test_a_log_in_utc_is_exact_in_the_hour_that_autumn_repeats() -> None:
    table = pl.DataFrame(
        {"user": "me", "app": ["A", "B"], "start": [datetime(2025, 10, 26, 0, 30), datetime(2025, 10, 26, 1, 30)]}
    ).with_columns(end=pl.col("start") + timedelta(minutes=1))
    notifications = pl.DataFrame(schema={"user": pl.String, "app": pl.String, "time": pl.Datetime("us")})
    read = Imported(table, "", 2, 0, 0, (), notifications)
    assert [at for _, _, at in said(read, clock=Clock(UTC, BERLIN))] == [
        "2025-10-26T02:30:00+02:00",
        "2025-10-26T02:31:00+02:00",
        "2025-10-26T02:30:00+01:00",
        "2025-10-26T02:31:00+01:00",
    ]


@pytest.mark.parametrize(
    ("app", "at"),
    [
        ("x" * 257, utc("2026-01-01 00:00:00")),
        ("line\nbreak", utc("2026-01-01 00:00:00")),
        ("", utc("2026-01-01 00:00:00")),
        ("Mail", utc("1970-01-01 00:00:00")),
        ("Mail", datetime.now(UTC) + timedelta(days=2)),
    ],
)
def test_what_no_server_takes_is_not_sent(app: str, at: datetime) -> None:
    assert event("opened", app, at) is None


def test_notifications_come_between_the_events_of_their_time() -> None:
    posted = '    time="2026-05-03 19:18:22" type=NOTIFICATION_SEEN package=com.b flags=0x0 \n'
    events = said(read_piece((DUMPSYS + posted).encode(), "me", "dumpsys"))
    assert [(kind, app) for kind, app, _ in events[:3]] == [
        ("opened", "com.a"),
        ("notified", "com.b"),
        ("closed", "com.a"),
    ]
