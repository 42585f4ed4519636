"""Merging, clipping, the border check."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stap.errors import BadInput
from stap.usage import SCHEMA, in_front, merge, only_users, save, some, validate

DAY = datetime(2024, 5, 1)


def table(*rows: tuple[str, str, int, int]) -> pl.DataFrame:
    """(user, app, start, end) in seconds of one day."""
    return pl.DataFrame(
        [(user, app, DAY + timedelta(seconds=start), DAY + timedelta(seconds=end)) for user, app, start, end in rows],
        schema=SCHEMA,
        orient="row",
    )


def seconds(frame: pl.DataFrame) -> list[tuple[str, str, int, int]]:
    return [(u, a, int((s - DAY).total_seconds()), int((e - DAY).total_seconds())) for u, a, s, e in frame.iter_rows()]


def test_neighbours_of_one_app_become_one_usage() -> None:
    records = table(("u", "A", 0, 10), ("u", "A", 20, 30), ("u", "B", 40, 50), ("u", "A", 60, 70))
    assert seconds(merge(records)) == [("u", "A", 0, 30), ("u", "B", 40, 50), ("u", "A", 60, 70)]


def test_users_are_never_merged_with_each_other() -> None:
    assert len(merge(table(("u", "A", 0, 10), ("v", "A", 20, 30)))) == 2


def test_an_end_past_the_next_start_is_clipped() -> None:
    assert seconds(merge(table(("u", "A", 0, 100), ("u", "B", 40, 50)))) == [("u", "A", 0, 40), ("u", "B", 40, 50)]


def test_the_last_usage_of_a_user_is_not_clipped_by_the_next_user() -> None:
    assert seconds(merge(table(("u", "A", 50, 100), ("v", "B", 0, 5)))) == [("u", "A", 50, 100), ("v", "B", 0, 5)]


def test_an_early_record_that_ends_last_keeps_its_time() -> None:
    assert seconds(merge(table(("u", "A", 0, 90), ("u", "A", 10, 20)))) == [("u", "A", 0, 90)]


def test_equal_starts_keep_the_log_s_order() -> None:
    records = table(("u", "B", 5, 9), ("u", "C", 5, 6), ("u", "A", 0, 5))
    assert [app for _, app, _, _ in seconds(merge(records))] == ["A", "B", "C"]


rows = st.lists(
    st.tuples(st.sampled_from("uv"), st.sampled_from("ABC"), st.integers(0, 500), st.integers(0, 60)).map(
        lambda row: (row[0], row[1], row[2], row[2] + row[3])
    ),
    min_size=1,
    max_size=40,
)


@given(rows)
def test_merging_again_changes_nothing(records: list[tuple[str, str, int, int]]) -> None:
    once = merge(table(*records))
    assert merge(once).equals(once)


@given(rows)
def test_neighbours_differ_and_never_overlap(records: list[tuple[str, str, int, int]]) -> None:
    usages = seconds(merge(table(*records)))
    for before, after in pairwise(usages):
        if before[0] == after[0]:
            assert before[1] != after[1]
            assert before[2] <= before[3] <= after[2]


@given(rows)
def test_time_is_never_lost(records: list[tuple[str, str, int, int]]) -> None:
    """A record lies in a usage of its own app that lasts as long as it, or until the next usage starts."""
    usages = seconds(merge(table(*records)))
    following = [after[2] if after[0] == own[0] else 10**6 for own, after in pairwise([*usages, ("", "", 0, 0)])]
    for user, app, start, end in records:
        assert any(
            own[:2] == (user, app) and own[2] <= start <= own[3] and own[3] >= min(end, cut)
            for own, cut in zip(usages, following, strict=True)
        )


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        (["A 0 100", "B 40 50"], ["A 0 40", "B 40 50", "A 50 100"]),
        (["A 0 100", "B 10 60", "C 20 30"], ["A 0 10", "B 10 20", "C 20 30", "B 30 60", "A 60 100"]),
        (["A 0 50", "B 40 80"], ["A 0 40", "B 40 80"]),
        (["A 0 10", "B 5 5"], ["A 0 5", "B 5 5", "A 5 10"]),
        (["A 0 10", "B 20 30"], ["A 0 10", "B 20 30"]),
        (["B 20 30", "A 0 25"], ["A 0 20", "B 20 30"]),
    ],
)
def test_what_is_still_open_comes_back(records: list[str], wanted: list[str]) -> None:
    def rows(texts: list[str]) -> list[tuple[str, str, int, int]]:
        return [("u", app, int(start), int(end)) for app, start, end in (text.split() for text in texts)]

    assert seconds(in_front(table(*rows(records)))) == rows(wanted)


@given(rows)
def test_in_front_is_who_began_last(records: list[tuple[str, str, int, int]]) -> None:
    """Asked between the seconds, where nothing begins or ends."""
    front = seconds(in_front(table(*records)))
    for user in {row[0] for row in records}:
        for second in range(0, 560, 7):
            covering = [row for row in records if row[0] == user and row[2] <= second < row[3]]
            latest = max((row[2] for row in covering), default=None)
            wanted = [row[1] for row in covering if row[2] == latest][-1:]
            assert [row[1] for row in front if row[0] == user and row[2] <= second < row[3]] == wanted
    instants = sorted(row for row in records if row[2] == row[3])
    assert sorted(row for row in front if row[2] == row[3]) == instants


def test_the_border_names_the_row() -> None:
    with pytest.raises(BadInput, match=r"log\.csv, row 2: end before start"):
        validate(table(("u", "A", 0, 10), ("u", "B", 30, 20)), "log.csv")


def test_the_border_wants_every_column_and_some_rows() -> None:
    with pytest.raises(BadInput, match="no column 'end'"):
        validate(table(("u", "A", 0, 10)).drop("end"), "log.csv")
    with pytest.raises(BadInput, match="no app usage"):
        validate(table(), "log.csv")


def test_an_unknown_user_is_named() -> None:
    with pytest.raises(BadInput, match="no user 'w'; the users are u"):
        only_users(table(("u", "A", 0, 10)), ["w"], "log.csv")


def test_users_are_named_one_by_one_or_between_commas() -> None:
    """A name that has a comma itself is taken whole before it is split."""
    rows = table(*((user, "A", 0, 10) for user in ("a", "b", "a,b", "c")))
    for wanted, chosen in ((["a,b"], ["a,b"]), (["a", "b"], ["a", "b"]), (["b,c", "a,b"], ["a,b", "b", "c"])):
        assert sorted(only_users(rows, wanted, "log.csv")["user"]) == chosen


def test_a_list_of_users_ends_with_an_ellipsis_where_it_is_cut() -> None:
    assert some(["b", "a"]) == "a, b"
    assert some("edcba") == "a, b, c, d, e"
    assert some("fedcba") == "a, b, c, d, e, ..."
    with pytest.raises(BadInput, match=r"the users are 1, 2, 3, 4, 5, \.\.\.$"):
        only_users(table(*((str(n), "A", 0, 10) for n in range(1, 9))), ["w"], "log.csv")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_is_saved_is_whole(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    save(table(("u", "A", 0, 10)), path)
    back = pl.read_csv(path, try_parse_dates=True) if ending == ".csv" else pl.read_parquet(path)
    assert seconds(back) == [("u", "A", 0, 10)]
    assert [file.name for file in tmp_path.iterdir()] == [path.name], "no draft is left"


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_text("old")
    with pytest.raises(AttributeError):
        save(None, path)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_nobody_named_is_nobody_chosen() -> None:
    for nobody in ([""], [","]):
        with pytest.raises(BadInput, match="no user is named"):
            only_users(table(("u", "A", 0, 10)), nobody, "log.csv")
