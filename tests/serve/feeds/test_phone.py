"""adb: a stand-in that plays a recorded dump which grows, asked by the real feed through a real process."""

from __future__ import annotations

import os
import stat
import sys
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.feeds.made import SECOND, Server, look, marks
from stap.errors import BadInput
from stap.serve.feeds import base, following
from stap.serve.feeds.adb import Phone
from stap.serve.feeds.making import make
from stap.serve.feeds.marks import Marks
from stap.serve.feeds.saying import Clock, told
from stap.sources import Options, read_piece

LISBON = ZoneInfo("Europe/Lisbon")
EIGHT = datetime(2026, 3, 3, 8, 0, tzinfo=LISBON)
HEAD = 'user=0 \n  Last 24 hour events (timeRange="3/2/2026, 8:00 AM – 3/3/2026, 8:00 AM" )\n'
STAND_IN = """#!{python}
# Plays the dump as far as it was recorded at a time: lines are revealed by the number in the file `shown`.
import pathlib, sys
here = pathlib.Path({folder!r})
if (here / "away").exists():
    sys.exit("error: no devices/emulators found")
if sys.argv[-2:] == ["getprop", "persist.sys.timezone"]:
    print((here / "zone").read_text())
elif sys.argv[-2:] == ["dumpsys", "usagestats"]:
    lines = (here / "dump").read_text().splitlines(keepends=True)
    sys.stdout.write("".join(lines[: int((here / "shown").read_text())]))
else:
    sys.exit(f"unknown: {{sys.argv}}")
"""


def line(seconds: float, kind: str, package: str = "android", zone: ZoneInfo = LISBON) -> str:
    at = (EIGHT + timedelta(seconds=seconds)).astimezone(zone)
    return f'    time="{at:%Y-%m-%d %H:%M:%S}" type={kind} package={package} class=x instanceId=1 flags=0x0 \n'


RECORDED = [
    line(0, "SCREEN_INTERACTIVE"),
    line(1, "ACTIVITY_RESUMED", "com.mail"),
    line(60, "ACTIVITY_PAUSED", "com.mail"),
    line(61, "ACTIVITY_RESUMED", "com.chat"),
    line(70, "NOTIFICATION_INTERRUPTION", "com.mail"),
    line(90, "SCREEN_NON_INTERACTIVE"),
    line(500, "ACTIVITY_RESUMED", "com.chat"),
    line(520, "ACTIVITY_PAUSED", "com.chat"),
]
EVERYTHING = [
    ("opened", "com.mail", "08:00:01"),
    ("closed", "com.mail", "08:01:00"),
    ("opened", "com.chat", "08:01:01"),
    ("notified", "com.mail", "08:01:10"),
    ("closed", "com.chat", "08:01:30"),
    ("opened", "com.chat", "08:08:20"),
    ("closed", "com.chat", "08:08:40"),
]


class StandIn:
    """An adb on the path, and the phone behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        adb = folder / "bin" / "adb"
        adb.parent.mkdir()
        adb.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)))
        adb.chmod(adb.stat().st_mode | stat.S_IXUSR)
        self.records(RECORDED)
        self.zone(LISBON.key)

    def records(self, lines: list[str]) -> None:
        (self.folder / "dump").write_text(HEAD + "".join(lines))
        self.shows(len(lines))

    def shows(self, lines: int) -> None:
        (self.folder / "shown").write_text(str(lines + HEAD.count("\n")))

    def zone(self, name: str) -> None:
        (self.folder / "zone").write_text(name)

    def away(self, away: bool) -> None:
        (self.folder / "away").touch() if away else (self.folder / "away").unlink()


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return stand_in


def test_a_dump_that_grows_is_told_as_it_grows_and_nothing_twice(phone: StandIn) -> None:
    feed, server = Phone("me", marks()), Server()
    for shown, seconds, expected in ((2, 5, 1), (4, 62, 3), (6, 95, 4), (6, 200, 5), (7, 505, 6), (8, 700, 7)):
        phone.shows(shown)
        look(feed, server, EIGHT + seconds * SECOND)
        assert server.said() == EVERYTHING[:expected]


def test_a_phone_that_is_away_is_waited_for_and_says_why(phone: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "LONGEST_WAIT", 0.02)
    feed, server, stop = Phone("me", marks(), every=0.01), Server(), Event()
    feed.now = lambda: EIGHT + 700 * SECOND
    phone.away(True)
    thread = Thread(target=feed.run, args=(server.send, stop))
    thread.start()
    _until(lambda: feed.state.startswith("waiting"))
    assert "no devices/emulators found" in feed.state
    server.away = True
    phone.away(False)
    _until(lambda: "disk is full" in feed.state)
    server.away = False
    _until(lambda: feed.state == "running" and len(server.said()) == len(EVERYTHING))
    stop.set()
    thread.join()
    assert server.said() == EVERYTHING
    assert feed.last == EIGHT + 520 * SECOND


def test_a_phone_that_travels_tells_old_events_in_its_new_zone_and_they_are_the_same(phone: StandIn) -> None:
    server, kept = Server(), marks()
    look(Phone("me", kept), server, EIGHT + 700 * SECOND)
    tokyo = ZoneInfo("Asia/Tokyo")
    in_tokyo = [each.replace("08:", "17:", 1) for each in RECORDED]  # the dump shows everything in the zone it is in
    phone.records([*in_tokyo, line(5000, "ACTIVITY_RESUMED", "com.maps", tokyo)])
    phone.zone(tokyo.key)
    look(Phone("me", kept), server, EIGHT + 5001 * SECOND)
    look(Phone("me", marks()), server, EIGHT + 5001 * SECOND)  # even where nobody knows what was sent
    assert server.said() == [*EVERYTHING, ("opened", "com.maps", "18:23:20")]


def test_after_a_restart_what_rolled_out_of_the_dump_s_head_is_not_begun_again(phone: StandIn, tmp_path: Path) -> None:
    server, path, later = Server(), tmp_path / "marks.json", line(2000, "ACTIVITY_RESUMED", "com.maps")
    phone.records([*RECORDED, later])
    look(Phone("me", Marks(path)), server, EIGHT + 2001 * SECOND)
    half = [line(30, "ACTIVITY_RESUMED", "com.mail"), *RECORDED[2:], later, line(3000, "ACTIVITY_RESUMED", "com.game")]
    phone.records(half)
    look(Phone("me", Marks(path)), server, EIGHT + 3001 * SECOND)
    after = [("opened", "com.maps", "08:33:20"), ("closed", "com.maps", "08:50:00"), ("opened", "com.game", "08:50:00")]
    assert server.said() == [*EVERYTHING, *after]


@pytest.mark.parametrize("back", [300, 7200])
def test_when_the_phone_s_clock_is_put_back_it_is_followed_again_once_it_is_where_it_was(
    phone: StandIn, back: int
) -> None:
    """What it tells meanwhile looks as if it had come before: a few minutes of that are seen, hours are not."""
    server, kept = Server(), marks()
    look(Phone("me", kept), server, EIGHT + 700 * SECOND)
    meanwhile = [line(800 - back, "ACTIVITY_RESUMED", "com.maps"), line(810 - back, "ACTIVITY_PAUSED", "com.maps")]
    phone.records([*RECORDED, *meanwhile, line(900, "ACTIVITY_RESUMED", "com.game")])
    look(Phone("me", kept), server, EIGHT + 901 * SECOND)
    opened = [app for kind, app, _ in server.said() if kind == "opened"]
    assert opened[-1] == "com.game"
    assert ("com.maps" in opened) == (back < 600)


def test_another_user_of_the_phone_is_a_user_of_their_own(phone: StandIn) -> None:
    phone.records([*RECORDED, "user=10 \n", line(600, "ACTIVITY_RESUMED", "com.game")])
    server = Server()
    look(Phone("me", marks()), server, EIGHT + 700 * SECOND)
    assert (server.said(), server.said("me-10")) == (EVERYTHING, [("opened", "com.game", "08:10:00")])


def test_without_adb_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="no adb on this machine; install"):
        make("adb", tmp_path)


KINDS = ["ACTIVITY_RESUMED", "ACTIVITY_RESUMED", "ACTIVITY_PAUSED", "SCREEN_NON_INTERACTIVE", "NOTIFICATION_SEEN"]
STEPS = st.tuples(
    st.sampled_from([0, 1, 10, 59, 60, 61, 300, 2000]),
    st.sampled_from(KINDS),
    st.sampled_from(["com.a", "com.b", "com.miui.home"]),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=25), st.data())
def test_however_a_dump_is_cut_into_looks_the_same_is_told_as_of_the_whole(
    steps: list[tuple[int, str, str]], data: st.DataObject
) -> None:
    lines, times, now = [], [], 0
    for wait, kind, package in steps:
        now += wait
        lines.append(line(now, kind, package))
        times.append(now)
    looks = sorted(data.draw(st.sets(st.integers(1, len(lines)), max_size=6)) | {len(lines)})
    server, kept = Server(), marks()
    for shown in looks:
        following = times[shown] if shown < len(lines) else now + 100
        at = EIGHT + (times[shown - 1] + (following - times[shown - 1]) * data.draw(st.floats(0, 0.99))) * SECOND
        _play(server, kept, lines[:shown], at)
    _play(server, kept, lines, EIGHT + (now + 100) * SECOND)
    alone = Server()
    _play(alone, marks(), lines, EIGHT + (now + 100) * SECOND)
    assert sorted(server.said()) == sorted(alone.said())


def _play(server: Server, kept: Marks, lines: list[str], at: datetime) -> None:
    """What a look does, without the process."""
    clock = Clock(LISBON, LISBON)
    read = read_piece(
        (HEAD + "".join(lines)).encode(), "me", "dumpsys", Options(skip_bad_rows=True, until=clock.shows(at))
    )
    for each in told(read, clock, at):
        following.Followed(kept).tell(base.Outbox(server.send), each.user, each, at)


def _until(holds: object) -> None:
    """Waits for what another thread does."""
    assert callable(holds)
    waiting = Event()
    for _ in range(1000):
        if holds():
            return
        waiting.wait(0.01)
    raise AssertionError("it never came to be")
