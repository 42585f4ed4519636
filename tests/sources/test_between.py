"""What lies between apps, in every format that shows it; results worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sources.made import AWARE, DAILY, DUMPSYS, PLAIN, SESSIONS, load, write
from stap import usage
from stap.errors import BadInput
from stap.sources import Imported, parse_gap
from stap.sources.reading.system import system_kind

APP_USAGE = """"App name","Date","Time","Duration"
"Chess","13/1/2024","21:10:00","0:00:10"
"Screen on (unlocked)","13/1/2024","21:10:00","0:00:01"
"Screen off (locked)","13/1/2024","21:09:40","0:00:20"
"Chess","13/1/2024","21:09:30","0:00:10"
"Notification history enabled","13/1/2024","21:09:25","0:00:00"
"Chess","13/1/2024","21:09:10","0:00:10"
"One UI Home","13/1/2024","21:09:00","0:00:10"
"Chess","13/1/2024","21:08:00","0:01:00"
"""


def spans(read: Imported) -> list[str]:
    """Launches by the clock, a star where a home screen came before."""
    rows = read.table.select("app", "start", "end", "home").iter_rows()
    return [f"{app} {start:%H:%M:%S} {end:%H:%M:%S}{' *' if home else ''}" for app, start, end, home in rows]


class TestAppUsage:
    def test_screens_and_launchers_lie_between_and_other_rows_do_not(self, tmp_path: Path) -> None:
        read = load(write(tmp_path, APP_USAGE))
        assert spans(read) == ["Chess 21:08:00 21:09:00", "Chess 21:09:10 21:09:40 *", "Chess 21:10:00 21:10:10"]
        assert (read.records, read.dropped) == (5, 1)

    def test_a_launcher_that_is_kept_is_an_app(self, tmp_path: Path) -> None:
        read = load(write(tmp_path, APP_USAGE), keep_system=True)
        assert read.table["app"].to_list() == ["Chess", "One UI Home", "Chess", "Chess"]
        assert read.table["home"].null_count() == 4

    def test_the_paper_merges_them_all(self, tmp_path: Path) -> None:
        read = load(write(tmp_path, APP_USAGE), merge_gap=None)
        assert read.table.columns == list(usage.SCHEMA)
        assert [f"{end:%H:%M:%S}" for end in read.table["end"]] == ["21:10:10"]

    @pytest.mark.parametrize(
        "row", ["Écran allumé (verrouillé)", "Ekran wyłączony", "Device shutdown", "Blub (locked)"]
    )
    def test_the_screen_and_the_power_in_other_words(self, tmp_path: Path, row: str) -> None:
        text = APP_USAGE.replace("Notification history enabled", row)
        assert "Chess 21:09:30 21:09:40" in spans(load(write(tmp_path, text)))


def test_ubiqlog_s_launchers_are_home_screens(tmp_path: Path) -> None:
    assert load(write(tmp_path, SESSIONS)).table["home"].to_list() == [False, True, False]
    assert load(write(tmp_path, SESSIONS), keep_system=True).table["home"].null_count() == 4


def test_of_ubiqlog_s_processes_only_home_screens_lie_between(tmp_path: Path) -> None:
    """The launcher stands between com.a and com.b; a lock screen's process runs whenever it likes."""
    assert load(write(tmp_path, DAILY)).table["home"].to_list() == [False, True]
    chunks = "".join(
        f'{{"Application":{{"ProcessName":"{name}","Start":"11-22-2013 {start}","End":"11-22-2013 {end}"}}}}\n'
        for name, start, end in (
            ("com.a", "10:00:00", "10:05:00"),
            ("com.htc.lockscreen", "10:05:00", "10:05:10"),
            ("com.lge.launcher2:x", "10:05:00", "10:05:10"),
            ("com.a", "10:05:10", "10:06:00"),
        )
    )
    assert spans(load(write(tmp_path, chunks))) == ["com.a 10:00:00 10:06:00"]


class TestDumpsys:
    def test_a_launcher_lies_between(self, tmp_path: Path) -> None:
        assert load(write(tmp_path, DUMPSYS)).table["home"].to_list() == [False, False, True]

    @pytest.mark.parametrize(
        ("event", "launches"),
        [
            *(("SCREEN_NON_INTERACTIVE", 2), ("KEYGUARD_SHOWN", 2), ("DEVICE_SHUTDOWN", 2), ("16", 2), ("17", 2)),
            *(("SCREEN_INTERACTIVE", 1), ("CONFIGURATION_CHANGE", 1)),
        ],
    )
    def test_a_dark_screen_lies_between_at_once(self, tmp_path: Path, event: str, launches: int) -> None:
        lines = [("08:00:00", "ACTIVITY_RESUMED", "a"), ("08:00:05", event, "android")]
        lines += [("08:00:06", "ACTIVITY_RESUMED", "a"), ("08:00:09", "ACTIVITY_PAUSED", "a")]
        text = "".join(f' time="2026-05-03 {time}" type={kind} package={app} class=x\n' for time, kind, app in lines)
        read = load(write(tmp_path, text))
        assert (read.table.height, read.records, read.table["home"].null_count()) == (launches, 2, launches)


class TestActivityWatch:
    """On a desktop nobody sees a home screen, but people leave and come back."""

    def read(self, folder: Path, windows: list[tuple[str, int, str]], away: list[tuple[str, int]]) -> Imported:
        def events(rows: list[tuple[str, int, dict[str, str]]]) -> list[dict[str, object]]:
            return [{"timestamp": f"2024-07-01T{at}Z", "duration": length, "data": data} for at, length, data in rows]

        buckets = [
            {"type": "currentwindow", "events": events([(at, s, {"app": app}) for at, s, app in reversed(windows)])},
            {"type": "afkstatus", "events": events([(at, s, {"status": "afk"}) for at, s in reversed(away)])},
        ]
        document = {"buckets": {str(n): bucket | {"hostname": "pc"} for n, bucket in enumerate(buckets)}}
        return load(write(folder, json.dumps(document)), zone="UTC")

    def test_a_window_that_spans_absences_is_launched_again_after_each(self, tmp_path: Path) -> None:
        read = self.read(tmp_path, [("10:00:00", 600, "Editor")], [("10:01:00", 60), ("10:05:00", 30)])
        assert spans(read) == [
            "Editor 10:00:00 10:01:00",
            "Editor 10:02:00 10:05:00",
            "Editor 10:05:30 10:10:00",
        ]
        assert spans(load_merged(read)) == ["Editor 10:00:00 10:10:00"]

    def test_an_absence_between_windows_lies_between(self, tmp_path: Path) -> None:
        windows = [("10:00:00", 60, "Editor"), ("10:01:10", 60, "Editor"), ("10:02:20", 60, "Editor")]
        read = self.read(tmp_path, windows, [("10:01:00", 10)])
        assert spans(read) == ["Editor 10:00:00 10:01:00", "Editor 10:01:10 10:03:20"]

    @pytest.mark.parametrize("away", [539, 540, 541])
    def test_a_window_ends_where_its_last_absence_begins_also_if_both_end_at_once(
        self, tmp_path: Path, away: int
    ) -> None:
        read = self.read(tmp_path, [("10:00:00", 600, "Editor")], [("10:01:00", away)])
        assert spans(read) == ["Editor 10:00:00 10:01:00", *(["Editor 10:09:59 10:10:00"] if away < 540 else [])]

    def test_a_window_over_which_another_opened_stays_whole(self, tmp_path: Path) -> None:
        """Else the piece after the absence would come back over the other."""
        read = self.read(tmp_path, [("10:00:00", 600, "Editor"), ("10:01:30", 300, "Mail")], [("10:01:00", 60)])
        assert spans(read) == ["Editor 10:00:00 10:02:00", "Mail 10:02:00 10:06:30"]

    def test_a_lock_screen_lies_between(self, tmp_path: Path) -> None:
        windows = [("10:00:00", 60, "Editor"), ("10:01:00", 10, "LockApp.exe"), ("10:01:10", 60, "Editor")]
        assert spans(self.read(tmp_path, windows, [])) == ["Editor 10:00:00 10:01:00", "Editor 10:01:10 10:02:10"]

    def test_a_shell_or_a_dialog_does_not(self, tmp_path: Path) -> None:
        windows = [("10:00:00", 60, "Editor"), ("10:01:00", 10, "gnome-shell"), ("10:01:10", 60, "Editor")]
        assert spans(self.read(tmp_path, windows, [])) == ["Editor 10:00:00 10:02:10"]


def load_merged(read: Imported) -> Imported:
    """The same with the paper's usages, home unknown."""
    return Imported(usage.merge(read.table).with_columns(home=None), "", 0, 0, 0, (), read.notifications)


class TestInstants:
    def test_aware_s_launcher_rows_are_home_screens(self, tmp_path: Path) -> None:
        rows = (("com.miui.home", 1583481043385), ("com.tinder", 1583481044385), ("com.tinder", 1583489999999))
        again = "".join(f'"{app}",{time},"d1",0\n' for app, time in rows)
        read = load(write(tmp_path, AWARE + again), zone="UTC")
        assert read.table["app"].to_list() == ["com.android.chrome", "com.tinder", "com.tinder"]
        assert read.table["home"].to_list() == [False, False, True]
        assert sum("d1: the log is of instants" in note for note in read.notes) == 1

    def test_nothing_is_said_where_all_is_merged_or_something_lasts(self, tmp_path: Path) -> None:
        assert not any("instants" in note for note in load(write(tmp_path, AWARE), zone="UTC", merge_gap=None).notes)
        assert not any("instants" in note for note in load(write(tmp_path, PLAIN)).notes)


class TestTablesOfLaunches:
    def test_what_was_apart_stays_apart(self, tmp_path: Path) -> None:
        """Chess again after a dark screen is nearer than a minute, and stays a launch; also under a longer gap."""
        phone = load(write(tmp_path, APP_USAGE))
        for name in ("my.csv", "my.parquet"):
            usage.save(phone.table, tmp_path / name)
            for gap in (60.0, 600.0):
                assert load(tmp_path / name, merge_gap=gap).table.equals(phone.table)
            assert load(tmp_path / name, merge_gap=None).table.height == 1

    def test_a_log_and_its_import_are_still_one(self, tmp_path: Path) -> None:
        phone = load(write(tmp_path, APP_USAGE, "phone.csv"))
        usage.save(phone.table, tmp_path / "phone.parquet")
        assert load(tmp_path).table.equals(phone.table)

    def test_a_table_without_home_is_read_by_the_minute(self, tmp_path: Path) -> None:
        usage.save(load(write(tmp_path, APP_USAGE)).table.drop("home"), tmp_path / "my.csv")
        assert spans(load(tmp_path / "my.csv")) == ["Chess 21:08:00 21:10:10"]

    def test_home_is_true_false_or_nothing(self, tmp_path: Path) -> None:
        rows = "u,Mail,2024-05-01 08:00,2024-05-01 08:01,{}\nu,Chat,2024-05-01 09:00,2024-05-01 09:01,true\n"
        text = "user,app,start,end,home\n" + rows
        assert load(write(tmp_path, text.format(""))).table["home"].to_list() == [False, True]
        with pytest.raises(BadInput, match="row 2: home is neither true nor false: 'sweet'"):
            load(write(tmp_path, text.format("sweet")))

    def test_a_column_home_of_another_table_means_nothing(self, tmp_path: Path) -> None:
        assert spans(load(write(tmp_path, "app,start,home\nMail,2024-05-01 08:00,Paris\n"))) == [
            "Mail 08:00:00 08:00:00"
        ]


@pytest.mark.parametrize(
    ("app", "kind"),
    [
        *(("com.miui.home", "home"), ("Pixel Launcher", "home"), ("com.gau.go.launcherex", "home")),
        *(("com.htc.lockscreen", "off"), ("LockApp.exe", "off"), ("Sperrbildschirm", "off")),
        *(("com.android.systemui", "other"), ("Gboard", "other"), ("com.htc.launcher.widgetscanner", "other")),
        *(("com.whatsapp", None), ("Home", None)),
    ],
)
def test_home_screens_are_told_from_locks_and_the_rest(app: str, kind: str | None) -> None:
    assert system_kind(app) == kind


@pytest.mark.parametrize(("text", "gap"), [("60", 60.0), ("0", 0.0), ("2.5", 2.5), ("all", None)])
def test_the_gap_is_seconds_or_all(text: str, gap: float | None) -> None:
    assert parse_gap(text) == gap


@pytest.mark.parametrize("text", ["-1", "a minute", "nan", "inf", ""])
def test_a_gap_that_is_none(text: str) -> None:
    with pytest.raises(BadInput, match="neither seconds nor all"):
        parse_gap(text)
