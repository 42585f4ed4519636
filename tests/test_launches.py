"""Records as launches: what joins them, what keeps them apart, and that merging them loses nothing."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_usage import DAY, seconds, table

from stap.errors import BadInput
from stap.usage import BETWEEN, GAP, SCHEMA, in_front, instants, launches, merge, notifications_of, save, validate

Row = tuple[str, str, int, int]


def log(*rows: Row | tuple[str, str, int]) -> pl.DataFrame:
    """Records (user, app, start, end) in seconds, and (user, "home" or "off", time) between them."""
    whole = table(*(row if len(row) == 4 else (row[0], row[1], row[2], row[2]) for row in rows))
    kinds = [None if len(row) == 4 else row[1] for row in rows]
    return whole.with_columns(between=pl.Series(kinds, dtype=BETWEEN))


def spans(frame: pl.DataFrame) -> list[str]:
    """One person's launches, a star where a home screen came before."""
    rows = zip(seconds(frame.select(list(SCHEMA))), frame["home"], strict=True)
    return [f"{app} {start} {end}{' *' if home else ''}" for (_, app, start, end), home in rows]


def test_a_minute_is_the_longest_pause_within_a_launch() -> None:
    records = table(("u", "A", 0, 10), ("u", "A", 70, 80), ("u", "A", 141, 150))
    assert spans(launches(records)) == ["A 0 80", "A 141 150"]
    assert spans(launches(records, gap=61)) == ["A 0 150"]
    assert spans(launches(records, gap=0)) == ["A 0 10", "A 70 80", "A 141 150"]


@pytest.mark.parametrize(("kind", "star"), [("home", " *"), ("off", "")])
def test_a_home_screen_or_a_dark_screen_between_makes_a_new_launch_however_short(kind: str, star: str) -> None:
    records = log(("u", "A", 0, 10), ("u", kind, 10), ("u", "A", 11, 20), ("u", "A", 25, 30))
    assert spans(launches(records)) == ["A 0 10", f"A 11 30{star}"]


def test_another_app_between_makes_a_new_launch() -> None:
    records = table(("u", "A", 0, 10), ("u", "B", 10, 12), ("u", "A", 12, 20))
    assert spans(launches(records)) == ["A 0 10", "B 10 12", "A 12 20"]


def test_home_says_whether_one_was_seen_since_the_launch_before() -> None:
    """Also between two apps, also after a pause; several in a row are one; a dark screen is none."""
    records = log(
        *(("u", "A", 0, 10), ("u", "home", 12), ("u", "off", 13), ("u", "home", 14), ("u", "B", 15, 20)),
        *(("u", "off", 30), ("u", "B", 100, 110), ("u", "C", 110, 120), ("u", "home", 400), ("u", "C", 500, 510)),
    )
    assert spans(launches(records)) == ["A 0 10", "B 15 20 *", "B 100 110", "C 110 120", "C 500 510 *"]


def test_somebody_who_shows_no_home_screen_leaves_it_open() -> None:
    """And what another shows between, or before the first launch, is not theirs."""
    records = log(
        *(("u", "A", 0, 10), ("u", "home", 11), ("u", "A", 12, 20), ("u", "B", 20, 30), ("u", "home", 40)),
        *(("v", "home", 5), ("v", "A", 10, 20), ("v", "off", 21), ("v", "A", 22, 30)),
    )
    found = launches(records)
    assert found["home"].to_list() == [False, True, False, None, None]
    assert launches(table(("u", "A", 0, 1)))["home"].to_list() == [None]


def test_the_pause_counts_from_the_latest_end() -> None:
    assert spans(launches(table(("u", "A", 0, 100), ("u", "A", 10, 20), ("u", "A", 150, 160)))) == ["A 0 160"]


def test_an_app_that_is_left_open_goes_on_in_its_next_launch() -> None:
    """A is in front until the home screen, and again from 60 on, until its first record ends."""
    records = log(("u", "A", 0, 300), ("u", "home", 50), ("u", "A", 60, 100), ("u", "B", 400, 410))
    assert spans(launches(records)) == ["A 0 60", "A 60 300 *", "B 400 410"]
    assert seconds(merge(launches(records))) == [("u", "A", 0, 300), ("u", "B", 400, 410)]


def test_at_one_instant_the_log_s_order_decides_what_lies_between() -> None:
    before = log(("u", "home", 0), ("u", "A", 0, 5), ("u", "A", 8, 9))
    assert spans(launches(before)) == ["A 0 9"]
    after = log(("u", "A", 0, 5), ("u", "home", 0), ("u", "A", 8, 9))
    assert spans(launches(after)) == ["A 0 5", "A 8 9 *"]


def test_instants_have_no_pauses_to_know() -> None:
    """u's log never says how long; v's does once, so v's pauses are real; a home screen is one in either."""
    rows = [("A", 0, 0), ("A", 500, 500), ("B", 600, 600)]
    records = table(*(("u", *row) for row in rows), *(("v", *row) for row in rows), ("v", "B", 600, 601))
    assert instants(records) == ["u"]
    found = launches(records)
    assert spans(found.filter(pl.col("user") == "u")) == ["A 0 500", "B 600 600"]
    assert spans(found.filter(pl.col("user") == "v")) == ["A 0 0", "A 500 500", "B 600 601"]
    seen = log(("u", "A", 0, 0), ("u", "home", 5), ("u", "A", 9, 9), ("u", "A", 900, 900))
    assert spans(launches(seen)) == ["A 0 0", "A 9 900 *"]


def test_a_single_record_is_no_log_of_instants() -> None:
    assert instants(table(("u", "A", 0, 0))) == []


def test_what_comes_back_to_the_front_keeps_what_lay_between() -> None:
    records = log(("u", "A", 0, 100), ("u", "B", 40, 50), ("u", "home", 45), ("u", "off", 110), ("u", "A", 120, 130))
    assert spans(launches(in_front(records))) == ["A 0 40", "B 40 50", "A 50 100 *", "A 120 130"]


app_rows = st.tuples(st.sampled_from("uv"), st.sampled_from("AB"), st.integers(0, 600), st.integers(0, 90)).map(
    lambda row: (row[0], row[1], row[2], row[2] + row[3])
)
marks = st.tuples(st.sampled_from("uv"), st.sampled_from(["home", "off"]), st.integers(0, 600))
logs = st.lists(st.one_of(app_rows, marks), min_size=1, max_size=40)


@given(logs)
def test_launches_merge_to_what_their_records_merge_to(rows: list[Row]) -> None:
    records = log(*rows)
    assert merge(launches(records)).equals(merge(records))


@given(logs)
def test_every_launch_has_a_reason_to_be_apart(rows: list[Row]) -> None:
    """Of neighbours of one app, by the definition: a pause of more than a minute, or something between their starts."""
    records = log(*rows)
    timeless = instants(records)
    found = launches(records)
    for (before, _), (after, home) in pairwise(zip(seconds(found.select(list(SCHEMA))), found["home"], strict=True)):
        if before[0] != after[0]:
            continue
        assert before[2] <= before[3] <= after[2]
        between = {row[1] for row in rows if len(row) == 3 and row[0] == after[0] and before[2] <= row[2] <= after[2]}
        if before[1] == after[1]:
            assert between or (after[2] - before[3] > GAP and after[0] not in timeless)
        assert not home or "home" in between


def test_the_table_keeps_home_through_both_kinds_of_file(tmp_path: Path) -> None:
    found = launches(log(("u", "A", 0, 10), ("u", "home", 11), ("u", "B", 12, 20), ("v", "B", 12, 20)))
    assert validate(found, "log").equals(found)
    for name in ("log.csv", "log.parquet"):
        save(found, tmp_path / name)
    assert pl.read_parquet(tmp_path / "log.parquet")["home"].to_list() == [False, True, None]
    assert (tmp_path / "log.csv").read_text().splitlines()[1:] == [
        "u,A,2024-05-01 00:00:00,2024-05-01 00:00:10,false",
        "u,B,2024-05-01 00:00:12,2024-05-01 00:00:20,true",
        "v,B,2024-05-01 00:00:12,2024-05-01 00:00:20,",
    ]


def test_home_is_true_or_false() -> None:
    with pytest.raises(BadInput, match="home is true or false"):
        validate(table(("u", "A", 0, 10)).with_columns(home=pl.lit("sweet")), "log")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_notifications_lie_beside_their_table_and_leave_with_them(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"my.{ending}"
    posted = pl.DataFrame({"user": ["u"], "app": ["Mail"], "time": [DAY + timedelta(seconds=5)]})
    save(table(("u", "A", 0, 10)), path, posted)
    assert {file.name for file in tmp_path.iterdir()} == {f"my.{ending}", f"my.notifications.{ending}"}
    assert notifications_of(path).name == f"my.notifications.{ending}"
    save(table(("u", "A", 0, 10)), path, posted.clear())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
