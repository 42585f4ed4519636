"""Times that cannot be, and clocks that are put back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from sources.made import APP_USAGE, load, short, write
from stap.errors import BadInput
from stap.sources.reading.clock import Zone

AUTUMN = datetime(2024, 10, 27, 0, 0)  # in UTC: two o'clock in Berlin, for the first time


def wall(zone: str, *times: datetime) -> list[datetime]:
    return pl.DataFrame({"t": times}).select(Zone(zone).wall(pl.col("t").cast(pl.Datetime("us")))).to_series().to_list()


def test_the_hour_that_autumn_repeats_passes_at_half_the_pace() -> None:
    minutes = {-1: "01:59", 0: "02:00", 40: "02:20", 59: "02:29", 60: "02:30", 100: "02:50", 119: "02:59", 120: "03:00"}
    shown = wall("Europe/Berlin", *(AUTUMN + timedelta(minutes=each) for each in minutes))
    assert [time.strftime("%H:%M") for time in shown] == list(minutes.values())


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "UTC"])
def test_elsewhere_it_is_the_clock_s_own_time_and_it_never_goes_back(name: str) -> None:
    """A whole year, every ten minutes; all but the two repeated hours (or half hours) are as Python has them."""
    utc = [datetime(2024, 1, 1) + timedelta(minutes=10 * step) for step in range(366 * 144)]
    shown = wall(name, *utc)
    assert shown == sorted(shown)
    python = [time.replace(tzinfo=UTC).astimezone(ZoneInfo(name)).replace(tzinfo=None) for time in utc]
    assert sum(ours != theirs for ours, theirs in zip(shown, python, strict=True)) <= 12


def test_a_desktop_s_log_keeps_its_order_when_the_clock_is_put_back(tmp_path: Path) -> None:
    events = [
        {
            "timestamp": f"{AUTUMN + timedelta(minutes=10 * n):%Y-%m-%dT%H:%M:%S}+00:00",
            "duration": 60,
            "data": {"app": a},
        }
        for n, a in enumerate("abcdefghijklmn")
    ]
    log = write(tmp_path, json.dumps({"type": "currentwindow", "events": events[::-1]}))
    assert [app for _, app, _, _ in short(load(log, zone="Europe/Berlin"))] == list("abcdefghijklmn")


def test_written_offsets_keep_their_order_when_the_clock_is_put_back(tmp_path: Path) -> None:
    """Ten minutes each; c and d come in the second two o'clock, and the clock stands until 2:40 is past."""
    rows = [
        ("a", "02:20:00+02:00"), ("b", "02:40:00+02:00"), ("c", "02:10:00+01:00"), ("d", "02:30:00+01:00"),
        ("e", "02:50:00+01:00"), ("f", "03:10:00+01:00"),
    ]  # fmt: skip
    text = "app,start,end\n" + "".join(
        f"{app},2024-10-27T{start},2024-10-27T{start[:4]}5{start[5:]}\n" for app, start in rows
    )
    assert [(app, start[11:16]) for _, app, start, _ in short(load(write(tmp_path, text)))] == [
        ("a", "02:20"), ("b", "02:40"), ("c", "02:40"), ("d", "02:40"), ("e", "02:50"), ("f", "03:10"),
    ]  # fmt: skip


def test_a_journey_is_no_repeated_hour(tmp_path: Path) -> None:
    """Six hours west: what was written stays, as before."""
    text = "app,start\na,2024-05-01T12:00:00+02:00\nb,2024-05-01T06:30:00-04:00\nc,2024-05-01T11:30:00-04:00\n"
    assert [start[11:16] for _, _, start, _ in short(load(write(tmp_path, text)))] == ["06:30", "11:30", "12:00"]


@pytest.mark.parametrize("offset", ["+99:99", "+14:30", "-12:30", "+1300+13", "+02:60", "+1460", "-99:00"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_an_offset_that_no_clock_has_is_a_bad_row(tmp_path: Path, offset: str, zone: str | None) -> None:
    log = write(tmp_path, f"app,start\nMail,2024-05-01T08:00:00+02:00\nChat,2024-05-01T09:00:00{offset}\n")
    with pytest.raises(BadInput, match="row 3: not a possible time"):
        load(log, zone=zone)
    assert load(log, zone=zone, skip_bad_rows=True).skipped == 1


@pytest.mark.parametrize("offset", ["+14:00", "-12:00", "+0545", " +05:30", "Z"])
def test_the_offsets_that_there_are(tmp_path: Path, offset: str) -> None:
    assert load(write(tmp_path, f"app,start\nMail,2024-05-01T08:00:00{offset}\n")).records == 1


def test_an_end_beyond_the_century_is_a_bad_row(tmp_path: Path) -> None:
    event = {"timestamp": "2099-12-31T10:00:00+00:00", "duration": 9e8, "data": {"app": "Mail"}}
    fine = {"timestamp": "2024-12-31T10:00:00+00:00", "duration": 9, "data": {"app": "Mail"}}
    log = write(tmp_path, json.dumps({"type": "currentwindow", "events": [fine, event]}))
    with pytest.raises(BadInput, match="row 2: not a possible end: '2128-"):
        load(log, zone="UTC")
    assert load(log, zone="UTC", skip_bad_rows=True).skipped == 1
    log = write(tmp_path, APP_USAGE.replace("0:00:10", "999999999999:00:10"))
    with pytest.raises(BadInput, match="row 2: not a "):
        load(log)
