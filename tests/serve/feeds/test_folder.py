"""A watched folder: files that appear, grow, are half written or cannot be read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sources.made import DUMPSYS, EVERY, PLAIN

from serve.feeds.made import NEVER, Server, look, utc
from stap.errors import BadInput
from stap.serve.feeds.base import Outbox
from stap.serve.feeds.folder import Folder
from stap.serve.feeds.making import make
from stap.serve.feeds.marks import Marks

MAIL_AND_CHAT = [
    ("opened", "Mail", "08:00:00"),
    ("closed", "Mail", "08:02:00"),
    ("opened", "Chat", "08:03:00"),
    ("closed", "Chat", "08:04:00"),
]
MORE = "u,Maps,2024-05-01 09:00:00,2024-05-01 09:01:00\n"


def feed(folder: Path, marks: Path | None = None) -> Folder:
    return Folder("me", Marks(marks), folder, zone="UTC")


def test_a_file_is_read_when_it_rests_and_again_when_it_has_grown(tmp_path: Path) -> None:
    server, watched = Server(), feed(tmp_path)
    log = tmp_path / "log.csv"
    log.write_text(PLAIN[:60])  # somebody is copying
    look(watched, server)
    log.write_text(PLAIN)
    look(watched, server)
    assert not server.events
    look(watched, server)
    assert server.said() == MAIL_AND_CHAT
    log.write_text(PLAIN + MORE)
    look(watched, server)
    look(watched, server)
    assert server.said() == [*MAIL_AND_CHAT, ("opened", "Maps", "09:00:00"), ("closed", "Maps", "09:01:00")]


def test_what_was_read_is_not_read_again_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "log.csv").write_text(PLAIN)
    for calls in (1, 0):
        server, watched = Server(), feed(tmp_path / "in", tmp_path / "marks.json")
        for _ in range(3):
            look(watched, server)
        assert server.calls == calls


def test_while_the_server_is_away_a_file_waits(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(PLAIN)
    server, watched = Server(), feed(tmp_path)
    look(watched, server)
    server.away = True
    with pytest.raises(BadInput, match="disk is full"):
        look(watched, server)
    server.away = False
    look(watched, server)
    assert server.said() == MAIL_AND_CHAT


def test_a_bad_file_is_named_once_and_keeps_nobody_waiting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.csv").write_text("user,app,start,end\nu,Mail,yesterday,today\n")
    (tmp_path / "good.csv").write_text(PLAIN)
    server, watched = Server(), feed(tmp_path)
    for _ in range(4):
        look(watched, server)
    assert server.said() == MAIL_AND_CHAT
    assert capsys.readouterr().err.count("bad.csv, row 2: not a possible time: 'yesterday'") == 1


def test_folders_inside_are_other_users_and_hidden_files_are_nobody_s(tmp_path: Path) -> None:
    for place in ("her phone", ".trash", "her phone/deeper"):
        (tmp_path / place).mkdir()
    (tmp_path / "her phone" / "dump.txt").write_text(DUMPSYS)
    for hidden in (".log.csv.part", ".trash/log.csv", "her phone/deeper/log.csv"):
        (tmp_path / hidden).write_text(PLAIN)
    server, watched = Server(), feed(tmp_path)
    for _ in range(2):
        look(watched, server)
    assert set(server.events) == {"her-phone"}
    assert len(server.said("her-phone")) == 6


@pytest.mark.parametrize("format", EVERY)
def test_any_format_that_is_imported_is_fed(tmp_path: Path, format: str) -> None:
    several = {"lsapp"}  # its log has two people
    (tmp_path / "log.txt").write_text(EVERY[format])
    server, watched = Server(), feed(tmp_path)
    for _ in range(2):
        look(watched, server)
    assert bool(server.said()) == (format not in several)


def test_the_last_close_comes_when_it_is_final_though_nobody_touches_the_file(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(PLAIN)
    server, watched, closed = Server(), feed(tmp_path), utc("2024-05-01 08:04:00")
    out = Outbox(server.send)
    for seconds, events in ((10, 0), (20, 3), (100, 3), (121, 4)):
        watched.now = lambda seconds=seconds: closed + timedelta(seconds=seconds)  # type: ignore[misc]
        watched.look(out, NEVER)
        assert server.said() == MAIL_AND_CHAT[:events]


def test_a_folder_that_is_not_there_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder; make it"):
        make(f"folder:{tmp_path / 'none'}", tmp_path)


@pytest.mark.parametrize("named", ["", "awe", "folder", "folder:", "replay:", "stdin:x", "aw:ftp://x", "aw:http://"])
def test_what_is_no_feed_gets_one_line(tmp_path: Path, named: str) -> None:
    with pytest.raises(BadInput, match=r"no such feed; use aw|no address of a server"):
        make(named, tmp_path)


def test_a_name_that_no_user_has_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no name of a user"):
        make("aw", tmp_path, user="me & you")
