"""Logs in, tables and pictures out; and what a slip gets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from cli.made import GOOD, ROW, stap
from stap.demo.person import LOG


def test_import_writes_a_usage_table_that_every_command_reads(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    done = stap("import", log, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "3 launches of 1 user" in done.stdout
    assert pl.read_parquet(out)["app"].to_list() == ["Mail", "Chat", "Mail"]
    again = stap("import", out, "-o", tmp_path / "again.csv")
    assert again.returncode == 0, again.stderr
    assert pl.read_csv(tmp_path / "again.csv", try_parse_dates=True).rows() == pl.read_parquet(out).rows()


def test_what_is_still_open_comes_back_to_the_front(tmp_path: Path) -> None:
    """Chat opens over Mail and closes again; then Mail is there, which merging alone cannot know."""
    over = GOOD.replace("08:01:00", "08:09:00")
    for options, apps in (([], ["Mail", "Chat"]), (["--in-front"], ["Mail", "Chat", "Mail"])):
        done = stap("import", "-", "-o", tmp_path / "out.parquet", *options, feed=over.encode())
        assert done.returncode == 0, done.stderr
        assert pl.read_parquet(tmp_path / "out.parquet")["app"].to_list() == apps


def test_standard_input(tmp_path: Path) -> None:
    done = stap("import", "-", "-o", tmp_path / "out.csv", feed=(GOOD + ROW).encode())
    assert done.returncode == 0, done.stderr
    assert len(pl.read_csv(tmp_path / "out.csv")) == 3


def test_describe_draws_a_figure(tmp_path: Path) -> None:
    figure, counts = tmp_path / "figure.png", tmp_path / "counts.json"
    done = stap("describe", LOG, "--figure", figure, "--json", counts)
    assert done.returncode == 0, done.stderr
    assert figure.read_bytes().startswith(b"\x89PNG")
    (described,) = json.loads(counts.read_text()).values()
    assert described["users"] == 1
    assert described["events"] == 2 * described["usages"]
    for words in ("top apps", "Chat", "hours of the day", "the last week", "the darker, the more usages began"):
        assert words in " ".join(done.stdout.split())


def test_describe_explains_the_figure_of_many(people: Path, tmp_path: Path) -> None:
    done = stap("describe", people, "--figure", tmp_path / "figure.png")
    assert done.returncode == 0, done.stderr
    assert "How many people have how many distinct apps" in " ".join(done.stdout.split())
    assert "top apps" not in done.stdout


BAD: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "empty"),
    "columns.csv": (b"who,what\n1,2\n", "column"),
    "dates.csv": ((GOOD + "u,Mail,2024-13-41 09:00:00,2024-05-01 09:01:00\n").encode(), "row 4"),
    "backwards.csv": ((GOOD + "u,Mail,2024-05-01 09:00:00,2024-05-01 08:59:00\n").encode(), "row 4: end before start"),
    "mixed.csv": (GOOD.encode() + ROW.replace("Mail", "Café").encode("latin-1"), "row 4"),
    "nul.csv": (GOOD.encode() + ROW.replace("Mail", "Ma\0il").encode(), "row 4"),
    "long.csv": (GOOD.encode() + b"u," + b"x" * (3 << 20) + b"\n", "row 4"),
    "cut.csv.gz": (gzip.compress((GOOD + ROW * 2000).encode(), 0)[:-5000], "gzip"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_code_2_and_nothing_written(name: str, tmp_path: Path) -> None:
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.parquet"
    done = stap("import", name, "-o", out, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert name in done.stderr
    assert words in done.stderr
    assert "; " in done.stderr, "a remedy follows"
    assert [path.name for path in tmp_path.iterdir()] == [name], "no half-written output"


@pytest.mark.parametrize("name", ["dates.csv", "backwards.csv", "mixed.csv", "nul.csv", "long.csv"])
def test_bad_rows_can_be_skipped_and_are_counted(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BAD[name][0])
    done = stap("import", tmp_path / name, "-o", tmp_path / "out.csv", "--skip-bad-rows")
    assert done.returncode == 0, done.stderr
    assert "skipped 1 bad row" in done.stderr
    assert pl.read_csv(tmp_path / "out.csv")["app"].to_list() == ["Mail", "Chat"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate", "nowhere.csv"), "no such file"),
        (("evaluate", LOG, "--predictors", "oracle"), "previous"),
        (("evaluate", LOG, "--users", "nobody"), "no user 'nobody'"),
        (("import", LOG, "-o", "out.docx"), ".parquet or .csv"),
        (("import", LOG, "-o", "no/such/folder/out.csv"), "cannot write"),
        (("bench", "nothing"), "choose one of"),
    ],
)
def test_a_slip_gets_one_line_that_helps(arguments: tuple[str | Path, ...], words: str, tmp_path: Path) -> None:
    done = stap(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
