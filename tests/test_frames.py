"""Data frames in, data frames out: the figures of `stap evaluate`, whichever library the frame is of."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from cli.made import call
from train.made import table

import stap
from stap import usage
from stap.errors import BadInput
from stap.metrics import NAMES
from stap.predictors.mfu import MostFrequent


def test_the_same_figures_as_the_command_line_whatever_the_frame(tmp_path: Path) -> None:
    people = table(3)
    log = tmp_path / "people.parquet"
    usage.save(people, log)
    for protocol in ("launch", "stream", "paper"):
        words = ("--predictors", "mfu,markov", "--protocol", protocol, "--json", tmp_path / "scores.json")
        assert call("evaluate", log, *words).exit_code == 0
        told = json.loads((tmp_path / "scores.json").read_text())["predictors"]
        scores = stap.compare(pl.read_parquet(log), ["mfu", "markov"], protocol)
        assert isinstance(scores, pl.DataFrame)
        assert scores.columns == ["predictor", "n", *NAMES]
        assert scores.rows(named=True) == [{"predictor": name, **told[name]["pooled"]} for name in ("mfu", "markov")]
        frame = pd.DataFrame(people.to_dict(as_series=False))
        same = stap.compare(frame, {"often": "mfu", "own": MostFrequent}, protocol, by_user=True)
        assert isinstance(same, pd.DataFrame)
        assert list(same.columns) == ["predictor", "user", "n", *NAMES]
        by_name = {name: rows.drop(columns="predictor").to_dict("records") for name, rows in same.groupby("predictor")}
        assert by_name["often"] == by_name["own"]
        assert by_name["often"] == [{"user": user, **row} for user, row in told["mfu"]["users"].items()]


def test_times_with_a_zone_count_as_the_clock_shows_them_and_an_end_may_be_missing() -> None:
    begin = datetime(2024, 5, 1, 8, tzinfo=UTC)
    rows = [("u", app, begin + timedelta(minutes=5 * n)) for n, app in enumerate("abababab")]
    frame = pl.DataFrame(rows, ["user", "app", "start"], orient="row")
    plain = frame.with_columns(pl.col("start").dt.replace_time_zone(None))
    kept = frame.to_dict(as_series=False)
    for each in (frame, plain, pd.DataFrame(kept)):
        found = stap.compare(each, ["previous"], "stream")
        assert float(found["HR@1"][0]) == pytest.approx(100 * 6 / 7)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (({"user": ["u"]}, ["mfu"]), "is no data frame; give one of pandas or polars"),
        ((pl.DataFrame({"user": ["u"], "app": ["a"]}), ["mfu"]), "no column 'start'"),
        ((table(1), "mfu"), "predictors is 'mfu'; give a list"),
        ((table(1), []), "no predictor is named"),
        ((table(1), ["mfu", "mfu"]), "two predictors are called 'mfu'"),
        ((table(1), [MostFrequent()]), "is no predictor; give a name, or a class without calling it"),
        ((table(1), ["nobody"]), "no predictor 'nobody'"),
        ((table(1), [dict]), "dict: no predictor: it has no observe"),
        ((table(1), ["mfu"], "sideways"), "no protocol 'sideways'; choose one of launch, stream, paper"),
    ],
)
def test_what_a_caller_gets_wrong_is_one_line(arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(BadInput) as refused:
        stap.compare(*arguments)
    assert why in str(refused.value)
