"""A file that ends whoever decodes it ends a process that is there for it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import polars as pl
import pytest

from stap import sources
from stap.errors import BadInput
from stap.sources.reading import trial
from stap.sources.shards import shards

FORGED = Path(__file__).parent / "corpus" / "2c1d8ad82cb3"  # found by fuzzing: a run of 2^61 values, aborts polars


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.parquet"
    pl.DataFrame({"app": ["a", "b"], "start": ["2024-01-01 10:00:00", "2024-01-01 10:05:00"]}).write_parquet(path)
    return path


def test_a_forged_parquet_is_refused_in_one_line() -> None:
    for _ in range(2):
        with pytest.raises(BadInput, match="no readable Parquet"):
            sources.read([FORGED])
    assert shards(FORGED) is None


def test_after_one_that_ended_it_the_next_file_is_read(sound: Path) -> None:
    taster = trial._Taster()
    assert not taster.survives(FORGED, ["user", "app", "start", "end"])
    assert taster.survives(sound, ["app", "start"])
    assert taster._ended() == trial.LEFT


def test_one_that_has_left_is_started_again(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "PROGRAM", trial.PROGRAM.replace(f"[], {trial.PATIENCE})", "[], 0)"))
    taster = trial._Taster()
    process = taster._running()
    assert process.wait(60) == trial.LEFT  # nobody asked
    monkeypatch.undo()
    assert taster.survives(sound, ["app", "start"])
    assert taster._ended() == trial.LEFT


def test_one_that_was_killed_is_no_verdict_on_later_files(sound: Path) -> None:
    taster = trial._Taster()
    os.kill(taster._running().pid, signal.SIGKILL)
    taster.survives(sound, ["app", "start"])
    assert taster.survives(sound, ["app", "start"])
    taster._ended()


def test_what_polars_refuses_by_an_error_is_left_to_who_reads(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing more")
    assert trial.survives(broken, ["app"])
    with pytest.raises(BadInput, match="no readable Parquet"):
        sources.read([broken])
