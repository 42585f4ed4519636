"""Deleted stays deleted: a feed goes on from then, whatever its log still knows, also after a restart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import pytest
from sources.made import PLAIN

from serve.feeds.test_aw import EIGHT, StandIn
from stap.serve.core import Core, Settings
from stap.serve.feeding import Feed, Feeding
from stap.serve.feeds.aw import ActivityWatch
from stap.serve.feeds.folder import Folder
from stap.serve.feeds.marks import EVERYBODY, Marks
from stap.serve.wire import Place

QUICK = 0.02  # seconds between two looks


class Server:
    """A core and its feeds, started anew whenever a test wants it."""

    def __init__(self, folder: Path, *feeds: Feed) -> None:
        self.core = Core(Settings(folder))
        self.feeding = Feeding(self.core, feeds)
        self.feeding.start()

    def apps(self, user: str = "me") -> set[str]:
        known = self.core.names.user(user)
        return set() if known is None else {row[2] for row in self.core.store.everything(known)}

    def close(self) -> None:
        self.feeding.close()
        self.core.close()


def until(holds: Callable[[], bool]) -> None:
    begin = monotonic()
    while not holds():
        assert monotonic() - begin < 60, "it never came to be"
        sleep(QUICK)


def looks(feed: Folder | ActivityWatch, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Waits until the feed has looked twice more, so that whatever it would send is sent."""
    done, look = [0], feed.look

    def counted(*arguments: object) -> None:
        look(*arguments)  # type: ignore[arg-type]
        done[0] += 1

    monkeypatch.setattr(feed, "look", counted)

    def wait() -> None:
        before = done[0]
        until(lambda: done[0] >= before + 3)

    return wait


def test_a_watched_folder_does_not_bring_back_what_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, marks = tmp_path / "in", tmp_path / "data" / "feeds" / "folder.json"
    watched.mkdir()
    marks.parent.mkdir(parents=True)
    log = watched / "log.csv"
    log.write_text(PLAIN)

    def feed() -> Folder:
        return Folder("me", Marks(marks), watched, zone="UTC", every=QUICK)

    running = feed()
    wait = looks(running, monkeypatch)
    server = Server(tmp_path / "data", running)
    until(lambda: server.apps() == {"Mail", "Chat"})
    server.feeding.delete_everything()
    wait()
    assert server.core.store.people() == []
    now = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=1)
    log.write_text(f"{PLAIN}u,Maps,{now:%Y-%m-%d %H:%M:%S},{now + timedelta(minutes=1):%Y-%m-%d %H:%M:%S}\n")
    until(lambda: server.apps() == {"Maps"})
    server.close()

    marks.touch()
    log.touch()  # it looks changed, and is read again from its beginning
    running = feed()
    wait = looks(running, monkeypatch)
    server = Server(tmp_path / "data", running)
    wait()
    assert server.apps() == {"Maps"}
    server.close()


def test_activitywatch_goes_on_from_the_deletion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = StandIn()
    monkeypatch.setattr(Place, "ask", lambda self, *question: watch.ask(*question))
    now = (datetime.now(UTC) - EIGHT).total_seconds()
    watch.wrote(now - 4000, 60, "Long ago")
    watch.wrote(now - 200, 60, "Editor")
    watch.wrote(now - 200, 60, "Theirs", host="laptop")
    path = tmp_path / "feeds" / "aw.json"
    path.parent.mkdir()
    running = ActivityWatch("me", Marks(path), zone="UTC", every=QUICK)
    wait = looks(running, monkeypatch)
    server = Server(tmp_path, running)
    until(lambda: server.apps() == {"Editor", "Long ago"} and server.apps("laptop") == {"Theirs"})
    server.feeding.delete("laptop")
    wait()
    assert (server.apps(), server.apps("laptop")) == ({"Editor", "Long ago"}, set())
    server.feeding.delete_everything()
    watch.wrote((datetime.now(UTC) - EIGHT).total_seconds(), 0.1, "Browser")
    until(lambda: server.apps() == {"Browser"})
    server.close()

    server = Server(tmp_path, ActivityWatch("me", Marks(path), zone="UTC", every=QUICK))
    watch.wrote((datetime.now(UTC) - EIGHT).total_seconds(), 0.1, "Mail")
    until(lambda: "Mail" in server.apps())
    assert server.apps() == {"Browser", "Mail"}
    server.close()


def test_marks_of_feeds_that_do_not_run_go_as_well(tmp_path: Path) -> None:
    path = tmp_path / "feeds" / "folder-0123.json"
    path.parent.mkdir()
    Marks(path).put("holiday in Rome.csv", "1 2")
    server = Server(tmp_path)
    server.feeding.delete_everything()
    server.close()
    assert "Rome" not in path.read_text()
    assert Marks(path)["holiday in Rome.csv"] is None
    assert Marks(path).deleted("me", "Mail") > datetime.now(UTC) - timedelta(minutes=5)


def test_a_feed_that_never_ran_may_tell_the_past(tmp_path: Path) -> None:
    """Who deletes the demo person and then starts ActivityWatch's feed gets the past year."""
    server = Server(tmp_path)
    server.feeding.delete_everything()
    server.close()
    assert Marks(tmp_path / "feeds" / "aw.json").time("host") is None


def test_one_user_s_deletion_is_not_another_s() -> None:
    marks, noon = Marks(None), datetime(2026, 3, 3, 12, tzinfo=UTC)
    marks.put("host", noon.isoformat())
    marks.forget("me", noon)
    assert marks.deleted("me", "Mail") == noon > marks.deleted("other", "Mail")
    assert marks.time("host") == noon
    marks.forget(EVERYBODY, noon + timedelta(hours=1))
    assert marks.deleted("other", "Mail") == marks.time("host") == noon + timedelta(hours=1)


def test_a_watched_folder_does_not_bring_back_a_forgotten_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, marks = tmp_path / "in", tmp_path / "data" / "feeds" / "folder.json"
    watched.mkdir()
    marks.parent.mkdir(parents=True)
    (watched / "log.csv").write_text(PLAIN)
    server = Server(tmp_path / "data", Folder("me", Marks(marks), watched, zone="UTC", every=QUICK))
    until(lambda: server.apps() == {"Mail", "Chat"})
    server.feeding.forget("me", "Mail")
    server.close()
    assert "Mail" not in marks.read_text()

    now = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=1)
    (watched / "log.csv").write_text(
        f"{PLAIN}u,Maps,{now:%Y-%m-%d %H:%M:%S},{now + timedelta(minutes=1):%Y-%m-%d %H:%M:%S}\n"
    )
    running = Folder("me", Marks(marks), watched, zone="UTC", every=QUICK)
    wait = looks(running, monkeypatch)
    server = Server(tmp_path / "data", running)
    wait()
    assert server.apps() == {"Chat", "Maps"}
    server.close()


def test_a_forgotten_app_is_another_s_still_and_goes_with_its_user() -> None:
    marks, noon = Marks(None), datetime(2026, 3, 3, 12, tzinfo=UTC)
    marks.forget("me", noon, "Mail")
    assert marks.deleted("me", "Mail") == noon
    assert marks.deleted("me", "Chat") == marks.deleted("other", "Mail") == marks.deleted("me/", "Mail") < noon
    marks.forget("me", noon - timedelta(hours=1))
    assert marks.deleted("me", "Mail") == noon - timedelta(hours=1)
