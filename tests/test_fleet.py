"""Shard by shard or all at once, alone or on two processes: the same figures, to the last bit."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cli.made import call
from train.made import table

from stap import evaluate, fleet, sources, usage
from stap.errors import BadInput
from stap.events import from_table, merged
from stap.jobs import Hands
from stap.metrics import gains, intervals, percent, summary_of, tally, tally_users
from stap.notices import notices
from stap.sources.shards import shards

NAMES = ("mfu", "markov", "stap")


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stap.sources.shards.USAGES", 100)
    monkeypatch.setattr("stap.sources.shards._LOOK", 70)
    monkeypatch.setattr("stap.fleet.USAGES", 100)


def people_file(folder: Path, launches: bool = True) -> Path:
    """Eight people of about 70 usages each, with notifications beside."""
    made = table()
    posted = made.gather_every(9).select("user", "app", time=pl.col("start") - pl.duration(minutes=2))
    if launches:
        made = made.with_columns(home=pl.Series(np.arange(len(made)) % 3 == 0))
    usage.save(made, folder / "people.parquet", posted)
    return folder / "people.parquet"


def test_shards_are_whole_people_in_their_order(tmp_path: Path) -> None:
    path = people_file(tmp_path)
    whole = pl.read_parquet(path)
    found = shards(path)
    assert found is not None
    assert len(found) == 4
    parts = [whole.slice(rows.first, rows.number) for rows in found]
    assert pl.concat(parts).equals(whole)
    seen = [set(part["user"]) for part in parts]
    assert sum(map(len, seen)) == whole["user"].n_unique()
    assert all(len(part) >= 100 for part in parts[:-1])


@pytest.mark.parametrize("wrong", ["order", "twice", "columns", "format", "damaged", "missing", "empty"])
def test_what_is_no_usage_table_in_order_is_read_at_once(tmp_path: Path, wrong: str) -> None:
    made, path = table(), tmp_path / "log.parquet"
    if wrong == "order":
        made = made.sort("user", descending=True, maintain_order=True)
    elif wrong == "twice":
        made = pl.concat([made, made.head(3)])
    elif wrong == "columns":
        made = made.rename({"user": "who"})
    elif wrong == "empty":
        made = made.head(0)
    if wrong == "format":
        path.write_text("user,app,start,end\n")
    elif wrong != "missing":
        made.write_parquet(path)
    if wrong == "damaged":
        path.write_bytes(path.read_bytes()[:-50])
    assert shards(path) is None


@pytest.mark.parametrize("protocol", ["launch", "stream", "paper"])
def test_shards_give_what_all_at_once_gives(tmp_path: Path, protocol: str) -> None:
    """From the file and from memory, alone and on two processes."""
    path, launches = people_file(tmp_path), protocol == "launch"
    question = fleet.Question(NAMES, protocol, terms=evaluate.Terms(64, 50))
    read = sources.read([path], sources.Options() if launches else sources.Options(merge_gap=None))
    people = from_table(read.table) if launches else merged(read.table)
    posted = notices(read.notifications) if launches else {}
    wanted = evaluate.run(people, question.makers(), protocol, question.terms, posted=posted)
    if launches:
        assert wanted["predictors"]["stap"]["notifications"] > 0
        assert wanted["predictors"]["stap"]["home"]["n"] > 0
    in_file, in_memory = fleet.filed(str(path), sources.Options(), launches), list(fleet.here(people, posted))
    assert len(in_file) == len(in_memory) == 4
    for parts, hands in ((in_file, Hands()), (in_file, Hands(2)), (in_memory, Hands())):
        scored, _ = fleet.evaluate(parts, question, hands)
        assert json.dumps(scored.result(protocol, question.terms)) == json.dumps(wanted)


def test_people_who_do_not_fit_are_named_whatever_their_shard(tmp_path: Path) -> None:
    question = fleet.Question(("mfu",), "paper", terms=evaluate.Terms(64, 5))
    scored, _ = fleet.evaluate(fleet.filed(str(people_file(tmp_path)), sources.Options(), False), question)
    assert (scored.users, scored.left_out) == (8, [f"u{n}" for n in range(8)])
    with pytest.raises(BadInput, match="no user has two usages and at most 5 apps"):
        scored.result("paper", question.terms)


def test_a_bad_row_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    """In the last shard; left out where that is asked for, and counted over all shards."""
    path = people_file(tmp_path)
    made = pl.read_parquet(path)
    for row in (10, len(made) - 5):
        made = made.with_columns(app=pl.when(pl.int_range(pl.len()) == row).then(pl.lit("x" * 5000)).otherwise("app"))
    made.write_parquet(path)
    question = fleet.Question(("mfu",), "launch")
    with pytest.raises(BadInput, match=rf"row {len(made) - 4}: "):
        fleet.evaluate(fleet.filed(str(path), sources.Options(), True)[-1:], question)
    some = fleet.filed(str(path), sources.Options(skip_bad_rows=True), True)
    assert fleet.evaluate(some, question)[1].skipped == 2


def test_the_command_gives_the_same_with_two_jobs(tmp_path: Path) -> None:
    log = str(people_file(tmp_path))
    said: list[Any] = []
    for jobs in "12":
        scores = tmp_path / f"{jobs}.json"
        done = call("evaluate", log, "--predictors", "mfu,stap", "--by-user", "--jobs", jobs, "--json", str(scores))
        found = json.loads(scores.read_text())
        del found["provenance"]  # the command, which names the jobs, and when it was given
        said.append((done.stdout, found))
    assert said[0] == said[1]
    assert "u7" in said[0][0]


def test_other_logs_go_to_the_processes_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    usage.save(table(), path)
    said = [call("evaluate", str(path), "--predictors", "mfu", "--jobs", jobs).stdout for jobs in "12"]
    assert said[0] == said[1]


def test_a_pipe_is_left_for_whoever_reads_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert shards(pipe) is None  # and does not wait for a writer
    assert shards(tmp_path) is None


def test_tallies_are_all_that_a_metric_needs() -> None:
    """Against the definition, position by position; a million people's draws come in parts and are the same."""
    rng = np.random.default_rng(0)
    rank, user = rng.integers(1, 12, 500).astype(np.int32), np.sort(rng.integers(0, 9, 500))
    assert percent(tally(rank)) == pytest.approx(100 * gains(rank).mean(axis=0))
    counts = tally_users(rank, user, 10)
    assert [row.tolist() for row in counts] == [tally(rank[user == number]).tolist() for number in range(10)]
    assert summary_of(counts[9]) == {"n": 0}
    with pytest.MonkeyPatch.context() as patch:
        at_once = intervals(rank, user)
        patch.setattr("stap.metrics.DRAWN", 20)
        assert intervals(rank, user) == at_once


def test_a_shard_that_cannot_tell_leaves_it_to_the_others() -> None:
    """Home screens: told by one shard of two; by none, nobody knows."""
    people = from_table(table(4))
    told = replace(people, home=np.where(np.arange(len(people.app)) < people.offsets[2], 1, -1).astype(np.int8))
    question = fleet.Question(("mfu",), "launch")
    for corpus in (told, people):
        scored, _ = fleet.evaluate(list(fleet.here(corpus)), question)
        whole = evaluate.run(corpus, question.makers(), "launch", question.terms)
        assert scored.result("launch", question.terms) == whole
        assert (whole["predictors"]["mfu"]["home"] is None) == (corpus is people)
