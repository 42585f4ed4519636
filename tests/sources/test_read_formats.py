"""Every format on a small log made by hand, with results worked out by hand."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from sources.made import (
    ACTIVITYWATCH,
    APP_USAGE,
    AWARE,
    DAILY,
    DUMPSYS,
    EVERY,
    LSAPP,
    PLAIN,
    SERVED,
    SESSIONS,
    TSINGHUA,
    load,
    short,
    write,
)
from stap import usage
from stap.errors import BadInput
from stap.sources import FORMATS


def test_every_format_has_a_log_here() -> None:
    assert set(EVERY) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_recognised_by_what_is_in_the_file(name: str, tmp_path: Path) -> None:
    sniffed = load(write(tmp_path, EVERY[name]), zone="UTC")
    assert sniffed.format == name
    assert load(write(tmp_path, EVERY[name]), zone="UTC", format=name).table.equals(sniffed.table)


class TestPlain:
    def test_neighbours_of_one_app_are_merged(self, tmp_path: Path) -> None:
        read = load(write(tmp_path, PLAIN))
        assert short(read) == [
            ("u", "Mail", "2024-05-01 08:00:00", "2024-05-01 08:02:00"),
            ("u", "Chat", "2024-05-01 08:03:00", "2024-05-01 08:04:00"),
        ]
        assert (read.records, read.skipped, read.dropped) == (3, 0, 0)

    def test_without_user_and_end(self, tmp_path: Path) -> None:
        text = 'start;app\n"2024-05-01T08:00";"Mail; etc"\n2024-05-01T09:00:00.5;Chat\n'
        read = load(write(tmp_path, text, "anna.csv"))
        assert read.table["user"].to_list() == ["anna", "anna"]
        assert read.table["app"].to_list() == ["Mail; etc", "Chat"]
        assert (read.table["start"] == read.table["end"]).all()
        assert read.table["start"][1].microsecond == 500_000

    def test_other_columns_may_be_called_anything(self, tmp_path: Path) -> None:
        text = "row,App,,Start,,row\n1,Mail,,2024-05-01 08:00,,1\n"
        assert short(load(write(tmp_path, text))) == [("log", "Mail", "2024-05-01 08:00:00", "2024-05-01 08:00:00")]

    def test_an_offset_keeps_its_wall_clock_unless_a_zone_is_asked_for(self, tmp_path: Path) -> None:
        log = write(tmp_path, "app\tstart\nMail\t2024-07-01T08:00:00-04:00\nChat\t2024-07-01T13:00:00Z\n")
        kept = load(log)
        assert [time[11:] for _, _, time, _ in short(kept)] == ["08:00:00", "13:00:00"]
        assert "wall clock" in kept.notes[0]
        berlin = load(log, zone="Europe/Berlin")
        assert [time[11:] for _, _, time, _ in short(berlin)] == ["14:00:00", "15:00:00"]

    def test_a_usage_table_is_taken_as_it_is(self, tmp_path: Path) -> None:
        phone = load(write(tmp_path, DUMPSYS), keep_system=True)
        for name in ("kept.csv", "kept.parquet"):
            usage.save(phone.table, tmp_path / name)
            assert load(tmp_path / name).table.equals(phone.table)
        foreign = "user,app,start\nu,com.miui.home,2024-05-01 08:00:00\nu,Mail,2024-05-01 08:00:01\n"
        assert load(write(tmp_path, foreign)).dropped == 1

    def test_parquet_with_zones_and_few_columns(self, tmp_path: Path) -> None:
        table = load(write(tmp_path, PLAIN)).table.select("app", pl.col("start").dt.replace_time_zone("Europe/Berlin"))
        table.write_parquet(tmp_path / "bea.parquet")
        assert short(load(tmp_path / "bea.parquet"))[0][:3] == ("bea", "Mail", "2024-05-01 08:00:00")
        assert short(load(tmp_path / "bea.parquet", zone="UTC"))[0][2] == "2024-05-01 06:00:00"

    def test_parquet_that_is_no_log(self, tmp_path: Path) -> None:
        pl.DataFrame({"app": ["a"], "start": [3]}).write_parquet(tmp_path / "x.parquet")
        with pytest.raises(BadInput, match="'start' holds Int64"):
            load(tmp_path / "x.parquet")
        with pytest.raises(BadInput, match="no readable Parquet"):
            load(write(tmp_path, b"PAR1" + b"junk" * 20))


class TestLsapp:
    @pytest.mark.parametrize("text", [LSAPP, LSAPP.partition("\n")[2]], ids=["header", "no header"])
    def test_rows_are_instants_of_an_app(self, tmp_path: Path, text: str) -> None:
        assert short(load(write(tmp_path, text))) == [
            ("7", "Chess", "2018-01-16 06:01:05", "2018-01-16 06:01:09"),
            ("7", "Mail", "2018-01-16 06:02:20", "2018-01-16 06:02:20"),
            ("7", "Mail", "2018-01-16 09:00:00", "2018-01-16 09:00:00"),
            ("8", "Mail", "2018-01-16 07:00:00", "2018-01-16 07:00:00"),
        ]

    def test_only_an_opened_can_begin_a_launch(self, tmp_path: Path) -> None:
        """As its authors count: a film without a touch for minutes is one, and so is an Opened within a minute."""
        times = [
            *(("06:00:00", "Opened"), ("06:05:00", "User Interaction"), ("06:05:50", "Opened"), ("06:09:00", "Closed")),
            *(("06:10:01", "Opened"), ("06:20:00", "Broken")),
        ]
        rows = "".join(f"7\t1\t2018-01-16 {time}\tFilm\t{event}\n" for time, event in times)
        assert [(start[11:], end[11:]) for _, _, start, end in short(load(write(tmp_path, rows)))] == [
            ("06:00:00", "06:09:00"),
            ("06:10:01", "06:20:00"),
        ]

    def test_the_published_counts_stand_beside_what_was_read(self, tmp_path: Path) -> None:
        """Records: Chess, Mail, Mail opened hours later, the other user's Mail."""
        (note,) = load(write(tmp_path, LSAPP)).notes
        assert "2 users (published: 292), 2 apps (published: 87)" in note
        assert "4 usage records (published: 599,635), 3 sessions (published: 76,247)" in note

    def test_an_unknown_event_is_a_bad_row(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="row 6: not an event of LSApp: 'Burst'"):
            load(write(tmp_path, LSAPP.replace("Broken", "Burst")))


class TestTsinghua:
    def test_rows_are_instants(self, tmp_path: Path) -> None:
        read = load(write(tmp_path, TSINGHUA))
        assert short(read) == [
            ("4", "2", "2016-04-20 08:09:33", "2016-04-20 08:09:40"),
            ("4", "9", "2016-04-20 08:10:00", "2016-04-20 08:10:00"),
        ]
        assert "1 users (published: 871), 2 apps (published: 2,000)" in read.notes[0]


class TestUbiqlog:
    def test_the_cleaned_csv_knows_its_launchers_itself(self, tmp_path: Path) -> None:
        """The launcher lies between two launches of com.a; the installer is not marked and stays."""
        read = load(write(tmp_path, SESSIONS))
        assert short(read) == [
            ("1_F", "com.a", "2013-11-29 07:00:00", "2013-11-29 07:01:00"),
            ("1_F", "com.a", "2013-11-29 07:02:00", "2013-11-29 07:03:00"),
            ("1_F", "com.android.packageinstaller", "2013-11-29 07:03:00", "2013-11-29 07:04:00"),
        ]
        assert (read.records, read.dropped) == (4, 1)
        assert len(load(write(tmp_path, SESSIONS), keep_system=True).table) == 4

    def test_daily_files_of_a_folder_belong_to_the_user_it_is_named_after(self, tmp_path: Path) -> None:
        folder = tmp_path / "9_M"
        folder.mkdir()
        write(folder, DAILY, "log_11-22-2013.txt")
        write(folder, DAILY.replace("-22-2013", "-23-2013").replace("com.a", "com.c"), "log_11-23-2013.txt")
        read = load(tmp_path)
        assert [row[:3] for row in short(read)] == [
            ("9_M", "com.a", "2013-11-22 10:00:00"),
            ("9_M", "com.b", "2013-11-22 10:06:00"),
            ("9_M", "com.c", "2013-11-23 10:00:00"),
        ]  # the second file repeats com.b of the Persian line: the same record, counted once
        assert read.dropped == 2

    def test_raw_records(self, tmp_path: Path) -> None:
        text = (
            "user,file,process,start,end\n"
            "1_F,log.txt,com.android.nfc,11-29-2013 07:00:00,11-29-2013 07:05:00\n"
            "1_F,log.txt,com.a,11-29-2013 07:01:00,11-29-2013 07:06:00\n"
            "1_F,log.txt,com.a:push,11-29-2013 07:01:00,11-29-2013 07:06:00\n"
            "1_F,log.txt,,11-29-2013 07:01:00,11-29-2013 07:06:00\n"
        )
        read = load(write(tmp_path, text))
        assert short(read) == [("1_F", "com.a", "2013-11-29 07:01:00", "2013-11-29 07:06:00")]
        assert read.dropped == 2

    def test_a_broken_line_is_named(self, tmp_path: Path) -> None:
        log = write(tmp_path, DAILY + '{"Application":{"ProcessName":"com.b","Start":"11-22-20\n')
        with pytest.raises(BadInput, match="row 5: a broken line"):
            load(log)
        assert load(log, skip_bad_rows=True).skipped == 1


class TestDumpsys:
    def test_a_usage_lasts_until_something_takes_it_away(self, tmp_path: Path) -> None:
        """Another app's late stop ends nothing; the dark screen does; the second section repeats the first."""
        read = load(write(tmp_path, DUMPSYS, "phone.txt"))
        assert [(app, start[11:], end[11:]) for _, app, start, end in short(read)] == [
            ("com.a", "19:18:20", "19:18:25"),
            ("com.b", "19:18:25", "19:18:40"),
            ("com.a", "19:20:10", "19:20:30"),
        ]
        assert (read.records, read.dropped) == (4, 1)
        assert read.table["user"].unique().to_list() == ["phone"]

    def test_other_users_of_the_phone(self, tmp_path: Path) -> None:
        work = 'user=10 \n time="2026-05-03 08:00:00" type=MOVE_TO_FOREGROUND package=com.w class=x\n'
        users = load(write(tmp_path, DUMPSYS + work, "phone.txt")).table["user"].unique(maintain_order=True)
        assert users.to_list() == ["phone", "phone/10"]

    def test_utc_milliseconds_of_a_checkin_dump(self, tmp_path: Path) -> None:
        event = " time={} type={} package=com.a class=x\n"
        text = "user=0\n" + event.format(1583481040385, 1) + event.format(1583481050385, 2)
        read = load(write(tmp_path, text), zone="Asia/Tokyo")
        assert [row[1:] for row in short(read)] == [("com.a", "2020-03-06 16:50:40", "2020-03-06 16:50:50")]
        assert "Asia/Tokyo" in read.notes[0]

    def test_old_androids_write_the_time_in_the_phone_s_manner(self, tmp_path: Path) -> None:
        lines = [
            ("30/8/2015, 9:49 p. m.", "com.a"),
            ("31/8/2015, 12:05 a. m.", "com.b"),
            ("1/9/2015, 7:00 a. m.", "com.a"),
        ]
        text = "".join(f'  time="{time}" type=MOVE_TO_FOREGROUND package={app} class=x\n' for time, app in lines)
        read = load(write(tmp_path, text))
        assert read.table["start"].dt.strftime("%m-%d %H:%M").to_list() == ["08-30 21:49", "08-31 00:05", "09-01 07:00"]
        assert "day/month/year" in read.notes[0]

    def test_a_time_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="row 4: not a possible time: '2026-05-33 19:18:25'"):
            load(write(tmp_path, DUMPSYS.replace("05-03 19:18:25", "05-33 19:18:25")))


class TestActivityWatch:
    def test_newest_first_and_in_utc(self, tmp_path: Path) -> None:
        read = load(write(tmp_path, ACTIVITYWATCH), zone="Europe/Paris")
        assert short(read) == [
            ("pc", "Browser", "2024-07-01 12:00:00", "2024-07-01 12:00:30"),
            ("pc", "Editor", "2024-07-01 12:05:00", "2024-07-01 12:06:00"),
        ]
        assert read.table["end"][1].microsecond == 500_000
        assert "Europe/Paris" in read.notes[0]

    def test_one_bucket_and_a_bare_list_of_events(self, tmp_path: Path) -> None:
        bucket = json.loads(ACTIVITYWATCH)["buckets"]["aw-watcher-window_pc"]
        whole = load(write(tmp_path, ACTIVITYWATCH), zone="UTC").table
        assert load(write(tmp_path, json.dumps(bucket)), zone="UTC").table.equals(whole)
        bare = load(write(tmp_path, json.dumps(bucket["events"]), "pc.json"), zone="UTC")
        assert bare.table.equals(whole)

    def test_android_apps_are_packages_and_an_unknown_host_is_the_file(self, tmp_path: Path) -> None:
        event = {"timestamp": "2022-01-13T23:03:39.288Z", "duration": 1.0}
        data = [{"app": "Pulpit", "package": "com.miui.home"}, {"app": "Poczta", "package": "com.mail"}]
        bucket = {"type": "currentwindow", "hostname": "unknown", "events": [event | {"data": each} for each in data]}
        read = load(write(tmp_path, json.dumps({"buckets": {"x": bucket}}), "my.json"), zone="UTC")
        assert [row[:2] for row in short(read)] == [("my", "com.mail")]
        assert read.dropped == 1

    def test_windows_are_cut_while_nobody_is_there(self, tmp_path: Path) -> None:
        """Away from 10:00:10 to 10:05:20: the browser ends early, the clock is never seen, the editor starts late."""

        def event(start: str, seconds: float, **data: str) -> dict[str, object]:
            return {"timestamp": f"2024-07-01T{start}+00:00", "duration": seconds, "data": data}

        windows = [
            event("10:05:00", 60, app="Editor"),
            event("10:01:00", 9, app="Clock"),
            event("10:00:00", 30, app="Browser"),
        ]
        status = [event("10:05:20", 60, status="not-afk"), event("10:00:10", 310, status="afk")]
        buckets = {
            "w": {"type": "currentwindow", "hostname": "pc", "events": windows},
            "a": {"type": "afkstatus", "hostname": "pc", "events": status},
        }
        read = load(write(tmp_path, json.dumps({"buckets": buckets})), zone="UTC")
        assert [(app, start[11:], end[11:]) for _, app, start, end in short(read)] == [
            ("Browser", "10:00:00", "10:00:10"),
            ("Editor", "10:05:20", "10:06:00"),
        ]

    def test_a_clock_set_back_does_not_end_a_usage_before_it_starts(self, tmp_path: Path) -> None:
        event = {"timestamp": "2024-10-27T00:50:00Z", "duration": 1200, "data": {"app": "Film"}}
        read = load(write(tmp_path, json.dumps([event])), zone="Europe/Berlin")
        assert short(read)[0][2:] == (
            "2024-10-27 02:25:00",
            "2024-10-27 02:45:00",
        )  # the repeated hour at half its pace

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (ACTIVITYWATCH[:-20], "row 4: broken JSON"),
            ('{"buckets": ' + "[" * 200_000, "nested too deep"),
            ('{"buckets": {"x": {"type": "currentwindow"}}}', "has no events"),
            ('{"buckets": 3}', "no buckets"),
            ('{"buckets": {"x": {"type": "web", "events": []}}}', "no bucket of type currentwindow"),
            (ACTIVITYWATCH.replace("60.5", "-60.5"), "row 1: end before start"),
            (ACTIVITYWATCH.replace('"duration": 30', '"duration": NaN'), "row 2: an event without a possible duration"),
            (ACTIVITYWATCH.replace('"Browser"', "null"), "row 2: an event without package or app"),
            (ACTIVITYWATCH.replace("2024-07-01T12", "2024-17-01T12"), "row 2: not a possible time"),
        ],
    )
    def test_bad_documents(self, tmp_path: Path, text: str, why: str) -> None:
        with pytest.raises(BadInput, match=why):
            load(write(tmp_path, text), zone="UTC")


class TestAware:
    def test_packages_at_utc_milliseconds(self, tmp_path: Path) -> None:
        """is_system_app means nothing: Chrome stays, the system's UI goes."""
        read = load(write(tmp_path, AWARE), zone="UTC")
        assert [(user, app, start) for user, app, start, _ in short(read)] == [
            ("d1", "com.android.chrome", "2020-03-06 07:50:40"),
            ("d1", "com.tinder", "2020-03-06 07:50:42"),
        ]
        assert load(write(tmp_path, AWARE), zone="America/New_York").table["start"][0].hour == 2

    def test_zones_and_times_that_are_none(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="no such time zone"):
            load(write(tmp_path, AWARE), zone="Mars/Olympus")
        with pytest.raises(BadInput, match="row 4: not a possible time: '12'"):
            load(write(tmp_path, AWARE.replace("1583481042385.0", "12")), zone="UTC")


def test_app_usage_by_hand(tmp_path: Path) -> None:
    read = load(write(tmp_path, APP_USAGE, "my phone.csv"))
    assert short(read) == [
        ("my phone", "Chess", "2024-01-12 00:10:00", "2024-01-12 00:11:00"),
        ("my phone", "Mail", "2024-01-13 20:59:00", "2024-01-13 20:59:30"),
        ("my phone", "Chess", "2024-01-13 21:00:05", "2024-01-13 21:00:15"),
    ]
    assert read.records == 3


class TestServed:
    def test_opens_last_until_their_close_or_the_next_app_an_hour_at_most(self, tmp_path: Path) -> None:
        log = load(write(tmp_path, SERVED), zone="UTC")
        assert log.format == "serve"
        assert short(log) == [
            ("me", "Mail", "2026-03-02 07:00:00", "2026-03-02 07:02:00"),
            ("me", "Chat", "2026-03-02 07:10:00", "2026-03-02 08:10:00"),
            ("me", "Maps", "2026-03-02 08:30:00", "2026-03-02 08:30:00"),
        ]
        assert log.notifications.rows() == [("me", "Mail", datetime(2026, 3, 2, 7, 15))]

    def test_lines_for_standard_input_are_of_the_file_s_name(self, tmp_path: Path) -> None:
        lines = "\n".join(line for line in SERVED.splitlines() if "kind" in line)
        assert {user for user, *_ in short(load(write(tmp_path, lines, "phone.jsonl"), zone="UTC"))} == {"phone.jsonl"}

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            ('{"hidden": "Diary"}', '{"hidden": ', "row 2: a broken line"),
            ('"Mail"', "7", "row 3: a broken line"),
            ('"Mail"', '"\\ud800"', "row 3: a broken line"),
            ('"opened"', '"looked at"', "row 3: no such kind of event: 'looked at'"),
            ('"Mail"', '""', "row 3: no app in it"),
            ("08:00:00", "27:00:00", "row 3: not a possible time"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path: Path, old: str, new: str, why: str) -> None:
        with pytest.raises(BadInput, match=why):
            load(write(tmp_path, SERVED.replace(old, new, 1)), zone="UTC")
