"""Notifications: kept beside the usages, under the names of their apps, through files and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sources.made import DUMPSYS, PLAIN, load, write
from stap import usage
from stap.errors import BadInput
from stap.sources import Imported, Options, read

APP_USAGE = """"App name","Date","Time","Duration"
"Notifications envoyées (Mail)","13/1/2024","21:11:00","0:00:00"
"Chess","13/1/2024","21:10:00","0:00:10"
"Notifications envoyées (Système Android)","13/1/2024","21:09:00","0:00:00"
"Notifications envoyées (Bank (Beta))","13/1/2024","21:08:30","0:00:00"
"Mail","13/1/2024","21:08:00","0:01:00"
"""


def posted(imported: Imported) -> list[tuple[str, str, str]]:
    return [(user, app, f"{time:%H:%M:%S}") for user, app, time in imported.notifications.iter_rows()]


def test_app_usage_names_the_app_also_one_never_used_but_not_the_system(tmp_path: Path) -> None:
    imported = load(write(tmp_path, APP_USAGE, "phone.csv"))
    assert posted(imported) == [("phone", "Bank (Beta)", "21:08:30"), ("phone", "Mail", "21:11:00")]
    assert imported.table["app"].to_list() == ["Mail", "Chess"], "a notification lies between no launches"
    kept = load(write(tmp_path, APP_USAGE, "phone.csv"), keep_system=True)
    assert [app for _, app, _ in posted(kept)] == ["Bank (Beta)", "Système Android", "Mail"]


def test_dumpsys_has_those_that_interrupted_or_were_seen(tmp_path: Path) -> None:
    """By name or number; the repeated section counts once, and the system's are its own."""
    events = [
        ("19:18:30", "NOTIFICATION_INTERRUPTION", "com.mail"),
        ("19:18:30", "NOTIFICATION_INTERRUPTION", "com.mail"),
        ("19:18:31", "12", "com.chat"),
        ("19:18:32", "10", "com.mail"),
        ("19:18:33", "NOTIFICATION_SEEN", "com.android.systemui"),
        ("19:18:34", "STANDBY_BUCKET_CHANGED", "com.mail"),
    ]
    lines = [f' time="2026-05-03 {time}" type={kind} package={app} flags=0x0\n' for time, kind, app in events]
    imported = load(write(tmp_path, DUMPSYS + "".join(lines), "phone.txt"))
    assert posted(imported) == [
        ("phone", "com.mail", "19:18:30"),
        ("phone", "com.chat", "19:18:31"),
        ("phone", "com.mail", "19:18:32"),
    ]
    assert imported.table.equals(load(write(tmp_path, DUMPSYS, "phone.txt")).table)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_they_come_back_with_their_table(tmp_path: Path, ending: str) -> None:
    imported = load(write(tmp_path, APP_USAGE, "phone.txt"))
    table = tmp_path / "tables" / f"phone.{ending}"
    table.parent.mkdir()
    usage.save(imported.table, table, imported.notifications)
    for given in ([table], [table.parent], sorted(table.parent.iterdir())):
        back = read(given)
        assert back.table.equals(imported.table)
        assert back.notifications.equals(imported.notifications)
        assert back.notes == (), "the file beside is no stranger"
    usage.save(imported.table, table)
    assert load(table).notifications.is_empty()


def test_alone_they_are_no_log(tmp_path: Path) -> None:
    imported = load(write(tmp_path, APP_USAGE, "phone.txt"))
    usage.save(imported.table, tmp_path / "my.parquet", imported.notifications)
    with pytest.raises(BadInput, match=r"notifications, which lie beside a usage table; name .*my\.parquet instead"):
        load(tmp_path / "my.notifications.parquet")


def test_two_people_of_one_name_keep_their_own(tmp_path: Path) -> None:
    for name in ("red", "blue"):
        path = write(tmp_path, PLAIN, f"{name}.csv")
        usage.notifications_of(path).write_text(f"user,app,time\nu,{name},2024-05-01 08:00:30\n")
    both = read([tmp_path / "red.csv", tmp_path / "blue.csv"])
    assert posted(both) == [("blue/u", "blue", "08:00:30"), ("red/u", "red", "08:00:30")]
    joined = read([tmp_path / "red.csv", tmp_path / "blue.csv"], Options(as_user="me"))
    assert [user for user, _, _ in posted(joined)] == ["me", "me"]


def test_what_two_exports_both_hold_counts_once(tmp_path: Path) -> None:
    paths = [write(tmp_path, APP_USAGE, "may.csv"), write(tmp_path, APP_USAGE.replace("21:11", "21:12"), "june.csv")]
    imported = read(paths, Options(as_user="me"))
    assert [(app, time) for _, app, time in posted(imported)] == [
        ("Bank (Beta)", "21:08:30"),
        ("Mail", "21:11:00"),
        ("Mail", "21:12:00"),
    ]


def test_nobody_without_usages_has_any(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN, "my.csv")
    usage.notifications_of(path).write_text("user,app,time\nu,Mail,2024-05-01 08:00:30\nv,Mail,2024-05-01 08:00:30\n")
    assert posted(load(path)) == [("u", "Mail", "08:00:30")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("user,app\nu,Mail\n", "my.notifications.csv, row 1: no header with app, time"),
        ("user,app,time\nu,Mail,soon\n", "my.notifications.csv, row 2: not a possible time: 'soon'"),
        ("user,app,time\nu,,2024-05-01 08:00:30\n", "my.notifications.csv, row 2: no app in it"),
    ],
)
def test_a_file_beside_that_is_none_is_named(tmp_path: Path, text: str, why: str) -> None:
    path = write(tmp_path, PLAIN, "my.csv")
    usage.notifications_of(path).write_text(text)
    with pytest.raises(BadInput, match=why):
        load(path)


def test_the_command_writes_launches_and_notifications_of_those_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN + PLAIN.split("\n", 1)[1].replace("u,", "v,"), "all.csv")
    usage.notifications_of(path).write_text("user,app,time\nu,Mail,2024-05-01 08:00:30\nv,Chat,2024-05-01 08:00:31\n")
    command = [sys.executable, "-m", "stap", "import", str(path), "-o", str(tmp_path / "v.parquet"), "--users", "v"]
    apart = [*command, "--merge-gap", "60"]
    done = subprocess.run(apart, capture_output=True, text=True, timeout=120)
    assert "2 launches and 1 notifications of 1 user" in done.stdout
    assert pl.read_parquet(tmp_path / "v.notifications.parquet")["app"].to_list() == ["Chat"]
    merged = subprocess.run([*command, "--merge-gap", "all"], capture_output=True, text=True, timeout=120)
    assert "2 usages and 1 notifications" in merged.stdout
    assert pl.read_parquet(tmp_path / "v.parquet").columns == list(usage.SCHEMA)
