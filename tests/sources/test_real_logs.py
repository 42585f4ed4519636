"""The real logs beside the project, and the counts that are known of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from shared import shared_log

from sources.made import load
from stap import usage
from stap.sources import Options, read

STUDIED = [2, 5, 7, 8, 13, 14, 15, 16, 17, 18, 19, 21, 23, 24, 29, 30, 31, 32, 33, 34, 35]


def test_ubiqlog_cleaned(tmp_path: Path) -> None:
    log = load(shared_log("ubiqlog/app_sessions.csv.gz"))
    studied = usage.merge(log.table).filter(pl.col("user").str.extract(r"(\d+)").cast(pl.Int64).is_in(STUDIED))
    assert (log.records, log.dropped, log.table["user"].n_unique()) == (226_151, 45_955, 33)
    assert (studied["user"].n_unique(), studied.height) == (21, 80_052)
    usage.save(log.table, tmp_path / "log.csv")
    assert load(tmp_path / "log.csv").table.equals(log.table)


def test_ubiqlog_raw() -> None:
    """Its damaged rows are real; what is left has the users and nearly the apps of the cleaned one."""
    path = shared_log("ubiqlog/application_raw.csv.gz")
    log, cleaned = load(path, skip_bad_rows=True), load(shared_log("ubiqlog/app_sessions.csv.gz"))
    assert log.table["user"].n_unique() == 33
    assert log.skipped == 82
    most = usage.merge(cleaned.table)["app"].value_counts().top_k(100, by="count")["app"]
    assert most.is_in(log.table["app"].unique().implode()).sum() >= 90


def test_ubiqlog_daily_files() -> None:
    log = load(shared_log("formats/ubiqlog"))
    assert log.table["user"].unique(maintain_order=True).to_list() == ["32_F", "8_M"]
    persian = log.table.filter(pl.col("user") == "32_F")
    assert persian["start"].dt.date().unique().dt.to_string().to_list() == ["2013-11-22"]
    assert "com.mxtech.videoplayer.ad" in persian["app"]
    assert not log.table["app"].str.contains("launcher|:remote|systemserver").any()


@pytest.mark.parametrize(
    ("name", "records", "order", "first", "last"),
    [
        ("app_usage_en_mdy", 7_334, "month/day/year", "2019-11-09", "2019-12-05"),
        ("app_usage_en_mdy_2", 4_259, "month/day/year", "2019-11-09", "2019-12-10"),
        ("app_usage_fr_dmy", 2_788, "day/month/year", "2019-11-09", "2019-12-10"),
        ("excerpt_en_12h_footer", 33, "month/day/year", "2023-12-04", "2023-12-26"),
        ("excerpt_pl_dotted_dmy", 33, "day/month/year", "2022-12-31", "2023-01-14"),
    ],
)
def test_app_usage(name: str, records: int, order: str, first: str, last: str) -> None:
    log = load(shared_log(f"formats/app_usage/{name}.csv"))
    days = log.table["start"].dt.date()
    assert log.records == records
    assert order in log.notes[0]
    assert "guess" not in log.notes[0]
    assert (str(days.min()), str(days.max())) == (first, last)


@pytest.mark.parametrize(
    ("name", "usages", "apps"), [("dumpsys_en", 14, {"com.whatsapp"}), ("dumpsys_es", 29, {"com.termux"})]
)
def test_dumpsys(name: str, usages: int, apps: set[str]) -> None:
    log = load(shared_log(f"formats/dumpsys/{name}.txt"))
    assert usage.merge(log.table).height == usages
    assert apps <= set(log.table["app"])
    assert not {"com.miui.home", "com.motorola.launcher3", "android"} & set(log.table["app"])


def test_activitywatch() -> None:
    desktop = load(shared_log("formats/activitywatch/desktop_export.json"), zone="UTC")
    assert (desktop.records, desktop.table["user"].unique().to_list()) == (3_512, ["desktop"])
    android = load(shared_log("formats/activitywatch/android_export_excerpt.json"), zone="Europe/Warsaw")
    assert (android.records, android.dropped) == (40, 18)
    assert str(android.table["start"].max()).startswith("2022-01-14 00:03:39")  # 23:03 in UTC


def test_aware() -> None:
    log = load(shared_log("formats/aware/applications_foreground.csv"), zone="UTC")
    assert (log.records, log.dropped) == (39, 16)
    assert "com.android.chrome" in log.table["app"]


def test_tsinghua_sample() -> None:
    log = load(shared_log("tsinghua_sample/App_usage_trace.txt"))
    assert (log.records, log.table["user"].n_unique()) == (3_293, 6)
    assert "6 users (published: 871)" in log.notes[0]


def again(table: pl.DataFrame) -> int:
    """Launches of the app that the same user used last."""
    same = [pl.col(name) == pl.col(name).shift() for name in ("user", "app")]
    return int(table.select((same[0] & same[1]).sum()).item())


def test_ubiqlog_s_launches() -> None:
    """Another app or the same one again, after more than a minute or a launcher. Six people show no home screen."""
    table = load(shared_log("ubiqlog/app_sessions.csv.gz")).table
    assert (again(table), table.height - 33 - again(table)) == (24_494, 147_320)
    assert table.filter(pl.col("home").is_null())["user"].n_unique() == 6
    assert table["home"].sum() == 29_943


def test_viz_habits_launches_and_notifications() -> None:
    """Three phones: by the minute alone, with the screen's rows between, and what was posted to them."""
    logs = [shared_log(f"formats/app_usage/app_usage_{name}.csv") for name in ("en_mdy", "en_mdy_2", "fr_dmy")]
    whole = read(logs)
    assert (whole.table.height - 3, again(whole.table)) == (13_515, 4_652)
    assert whole.table["home"].null_count() == whole.table.height, "no launcher is in these logs"
    assert read(logs, Options(keep_system=True)).notifications.height == 7_694
    assert whole.notifications.height == 5_357
    assert set(whole.notifications["app"]) & set(whole.table["app"]) >= {"Gmail", "Slack", "Messenger"}


@pytest.mark.parametrize(
    "name",
    [
        *("ubiqlog/app_sessions.csv.gz", "tsinghua_sample"),
        pytest.param("ubiqlog/application_raw.csv.gz", marks=pytest.mark.slow),
        *(f"formats/{name}" for name in ("activitywatch", "app_usage", "aware", "dumpsys", "ubiqlog")),
    ],
)
@pytest.mark.parametrize("options", [{}, {"keep_system": True}, {"in_front": True}], ids=["", "system", "front"])
def test_launches_merge_to_the_paper_s_usages(name: str, options: dict[str, bool], tmp_path: Path) -> None:
    """Row for row; and a table of launches that was saved is read as it was."""
    log = shared_log(name)
    found = load(log, zone="UTC", skip_bad_rows=True, **options)
    paper = load(log, zone="UTC", skip_bad_rows=True, merge_gap=None, **options)
    assert usage.merge(found.table).equals(paper.table)
    usage.save(found.table, tmp_path / "log.parquet", found.notifications)
    back = load(tmp_path / "log.parquet")
    assert back.table.equals(found.table)
    assert back.notifications.equals(found.notifications)


def test_everything_at_once() -> None:
    log = read([shared_log("formats"), shared_log("tsinghua_sample")])
    assert log.format == "activitywatch+app-usage+aware+dumpsys+ubiqlog+tsinghua"
    assert log.table["user"].n_unique() == 18
