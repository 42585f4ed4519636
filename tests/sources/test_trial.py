"""A file that ends whoever decodes it, or takes all memory, ends a process that is there for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from stap import sources
from stap.errors import BadInput
from stap.sources.formats import plain
from stap.sources.reading import trial
from stap.sources.shards import shards
from stap.usage import LAUNCHES, TIME, notifications_of

FORGED = Path(__file__).parent / "corpus" / "2c1d8ad82cb3"  # found by fuzzing: a run of 2^61 values, aborts polars
MB = 1 << 20
MAY = 1_714_550_400_000_000  # microseconds


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.parquet"
    pl.DataFrame({"app": ["a", "b"], "start": ["2024-01-01 10:00:00", "2024-01-01 10:05:00"]}).write_parquet(path)
    return path


@pytest.fixture
def taster() -> Iterator[trial._Taster]:
    taster = trial._Taster()
    yield taster
    taster._leave()


def taste(taster: trial._Taster, path: Path, rows: int = 2) -> str:
    """What is said of it; nothing of a sound one."""
    try:
        taster.check(path, ["app", "start"], rows, path.name)
    except BadInput as error:
        return str(error)
    return ""


def test_a_forged_parquet_is_refused_in_one_line() -> None:
    for _ in range(2):
        with pytest.raises(BadInput, match="no readable Parquet"):
            sources.read([FORGED])
    assert shards(FORGED) is None


def test_after_one_that_ended_it_the_next_file_is_read(taster: trial._Taster, sound: Path) -> None:
    assert "no readable Parquet" in taste(taster, FORGED)
    assert not taste(taster, sound)
    assert taster._ended() == trial.LEFT


def test_one_that_has_left_is_started_again(
    taster: trial._Taster, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(trial, "PATIENCE", 0)
        assert taster._running().wait(60) == trial.LEFT  # nobody asked
    assert not taste(taster, sound)
    assert taster._ended() == trial.LEFT


def test_one_that_always_leaves_is_not_started_for_ever(
    taster: trial._Taster, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "PROGRAM", os.devnull)
    assert "no readable Parquet" in taste(taster, sound)


def test_one_that_was_killed_is_no_verdict_on_later_files(taster: trial._Taster, sound: Path) -> None:
    os.kill(taster._running().pid, signal.SIGKILL)
    taste(taster, sound)
    assert not taste(taster, sound)


def test_what_polars_refuses_by_an_error_is_said(taster: trial._Taster, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing more")
    assert "no readable Parquet (parquet: File out of specification" in taste(taster, broken)
    with pytest.raises(BadInput, match="no readable Parquet"):
        sources.read([broken])


def test_no_module_of_the_current_folder_is_run(sound: Path, tmp_path: Path) -> None:
    """Somebody imports a log where they downloaded it, beside a file that is called as one of Python's modules."""
    for name in ("json", "select", "polars"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w').close()\nraise SystemExit(1)\n")
    program = "import sys; del sys.path[0]; from stap import sources; print(sources.read(['sound.parquet']).records)"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path[1:])}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert not (tmp_path / "run").exists()


def wide(rows: int, width: int) -> pl.Series:
    """Names that are all different and yet shrink to a few bytes each."""
    return pl.select(pl.int_range(rows).cast(pl.String) + "x" * width).to_series()


def bomb(path: Path, app: pl.Series, groups: int = 1, time: str = "start") -> Path:
    times = (pl.int_range(0, len(app), eager=True) + MAY).cast(TIME)
    pl.DataFrame({"app": app, time: times}).write_parquet(path, row_group_size=len(app) // groups)
    return path


@pytest.mark.parametrize("what", ["a page", "many pages", "one name", "categories"])
def test_texts_that_unpack_to_far_more_than_their_file_are_refused(
    taster: trial._Taster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The same in small: a bound of 40 MB. Of `one name` and `categories` polars holds each text once at first."""
    path, names = tmp_path / "bomb.parquet", pl.Series(["x" * 4000, "y" * 4000])
    if what in ("a page", "many pages"):
        bomb(path, wide(30_000, 4000), groups=30 if what == "many pages" else 1)
    else:
        bomb(
            path,
            names.cast(pl.Categorical if what == "categories" else pl.String).sample(30_000, with_replacement=True),
        )
    assert path.stat().st_size < MB
    assert not taste(taster, path), "within 400 MB it is read"
    monkeypatch.setattr(trial, "MEMORY", 40 * MB)
    monkeypatch.setattr(trial, "ROW", 0)
    expected = "no readable Parquet (decoding it takes more than 40 MB); write it again, or as CSV if you trust it"
    assert taste(taster, path, 0) == f"bomb.parquet: {expected}"


def test_a_page_of_one_huge_text_does_not_take_its_memory(taster: trial._Taster, tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.parquet", pl.Series(["x" * (700 * MB), "y"]))
    assert path.stat().st_size < MB
    assert "takes more than 400 MB" in taste(taster, path)
    assert sys.platform != "linux" or taster._process is None, "it came to an end before it had that text"


def test_one_that_hangs_without_memory_is_ended(
    taster: trial._Taster, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where polars cannot start a thread it waits for it for ever."""
    monkeypatch.setattr(trial, "STILL", 2)
    for room in (0, MB, 3 * MB):
        monkeypatch.setattr(trial, "room", lambda path, rows, room=room: room)
        taste(taster, sound)
    monkeypatch.undo()
    assert not taste(taster, sound)


def test_an_honest_table_has_room_and_so_has_the_next(
    taster: trial._Taster, sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three million rows in one group, and nothing but what its rows may take."""
    app = pl.Series(["com.example.mail", "com.example.maps"]).gather([0, 1] * 1_500_000)
    path = bomb(tmp_path / "large.parquet", app)
    with monkeypatch.context() as patch:
        patch.setattr(trial, "MEMORY", 0)
        assert not taste(taster, path, len(app))
    assert not taste(taster, sound)


def test_only_columns_that_are_wanted_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may hold what they like; also `home`, where it is no part of a table of launches."""
    asked: list[str] = []
    monkeypatch.setattr(plain, "check", lambda path, columns, rows, where: asked.extend(columns))
    path = tmp_path / "log.parquet"
    start = pl.Series([MAY, MAY + 60_000_000]).cast(TIME)
    pl.DataFrame({"app": ["a", "b"], "start": start, "home": [["x"], ["y"]], "note": [["x"], ["y"]]}).write_parquet(
        path
    )
    assert sources.read([path]).records == 2
    assert asked == ["app", "start"]


def test_notifications_beside_a_table_that_is_read_in_parts_are_tried_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "fleet.parquet"
    start = pl.Series([MAY, MAY + 60_000_000]).cast(TIME)
    pl.DataFrame(
        {"user": ["u", "v"], "app": ["a", "b"], "start": start, "end": start, "home": [True, False]}, LAUNCHES
    ).write_parquet(table)
    assert shards(table)
    bomb(notifications_of(table), wide(30_000, 4000), time="time")
    assert shards(table)
    monkeypatch.setattr(trial, "MEMORY", 40 * MB)
    monkeypatch.setattr(trial, "ROW", 0)
    assert shards(table) is None
    with pytest.raises(BadInput, match="no readable Parquet"):
        sources.read([table])
