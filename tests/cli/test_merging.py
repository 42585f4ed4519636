"""A table of launches is as good as one of merged usages for whatever needs the paper's usages: it merges by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file
from train.made import SHIPPED, table

from cli.made import call
from stap import usage
from stap.train import config
from stap.weights import model_file


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same people twice, as one file name in two folders: every usage in two launches, a dark screen between them;
    and merged.
    """
    folder = tmp_path_factory.mktemp("tables")
    whole = table(4)
    halves = [
        whole.with_columns(end=pl.col("start").dt.offset_by("20s")),
        whole.with_columns(start=pl.col("start").dt.offset_by("20s"), end=pl.col("start").dt.offset_by("20s")),
        whole.with_columns(start=pl.col("start").dt.offset_by("30s")),
    ]
    dark = halves[1].with_columns(between=pl.lit("off").cast(usage.BETWEEN))
    records = pl.concat([halves[0], dark, halves[2]], how="diagonal")
    files = folder / "launches" / "people.parquet", folder / "merged" / "people.parquet"
    for path, made in zip(files, (usage.launches(records), usage.merge(records)), strict=True):
        path.parent.mkdir()
        usage.save(made, path)
    return files


def test_the_two_tables_differ(tables: tuple[Path, Path]) -> None:
    launches, merged = map(pl.read_parquet, tables)
    assert len(launches) == 2 * len(merged) == 2 * len(table(4))


@pytest.mark.parametrize("protocol", ["stream", "paper"])
def test_stream_and_paper_score_the_same(tables: tuple[Path, Path], protocol: str, tmp_path: Path) -> None:
    words = ("--protocol", protocol, "--predictors", "mru,previous,ppm,stap", "--json", tmp_path / "scores.json")
    found = []
    for log in tables:
        done = call("evaluate", log, *words)
        assert done.exit_code == 0, done.exception
        found.append(json.loads((tmp_path / "scores.json").read_text())["predictors"])
    assert found[0] == found[1]


def test_a_description_counts_the_same(tables: tuple[Path, Path], tmp_path: Path) -> None:
    found = []
    for log in tables:
        done = call("describe", log, "--figure", tmp_path / "a.png", "--json", tmp_path / "counts.json")
        assert done.exit_code == 0, done.exception
        found += json.loads((tmp_path / "counts.json").read_text()).values()
    assert found[0] == found[1]


@pytest.mark.parametrize("preset", ["tiny", "shipped"])
def test_training_on_merged_usages_ends_in_the_same_weights(
    tables: tuple[Path, Path], preset: str, tmp_path: Path
) -> None:
    """The paper's task always, the shipped one where it is told to take no launches."""
    merged = replace(SHIPPED.population, steps=2, prior_steps=1)
    config.write(replace(SHIPPED, population=merged), tmp_path / "merged.toml")
    short = ("--epochs", "2") if preset == "tiny" else ("--config", tmp_path / "merged.toml")
    models = []
    for log in tables:
        run = tmp_path / log.parent.name
        done = call("train", "--preset", preset, *short, "--data", log, "--out", run)
        assert done.exit_code == 0, done.exception
        models.append(load_file(model_file(run)))
    assert models[0].keys() == models[1].keys()
    for name, tensor in models[0].items():
        assert np.array_equal(tensor, models[1][name]), name


@pytest.mark.slow
def test_the_rival_and_a_study_do_the_same(tables: tuple[Path, Path], tmp_path: Path) -> None:
    trees, figures = [], []
    for log in tables:
        assert call("rival", "--data", log, "--out", tmp_path / "gbdt.txt").exit_code == 0
        trees.append((tmp_path / "gbdt.txt").read_text())
        assert call("study", "loggers", log, "--users", "u0", "--json", tmp_path / "loggers.json").exit_code == 0
        told = json.loads((tmp_path / "loggers.json").read_text())
        figures.append({key: value for key, value in told.items() if key != "provenance"})  # when, and by what
    assert trees[0] == trees[1]
    assert figures[0] == figures[1]
