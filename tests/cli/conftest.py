"""Logs that several of these tests ask about."""

from __future__ import annotations

from pathlib import Path

import pytest
from train.made import table

from cli.made import GOOD, ROW
from stap import usage


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(GOOD + ROW)
    return path


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    usage.save(table(3), path)
    return path
