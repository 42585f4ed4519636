"""The people of a run, mapped from files: the same people, and in memory once however many processes there are."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from stap.errors import BadInput
from stap.train import shelf, tasks
from stap.train.parallel import World
from stap.train.people import apart, split
from stap.train.presets import preset

from .made import SHIPPED, corpus, log_file
from .test_distributed import TORCHRUN, command, finish, start, wait_for, workers

TINY, PEOPLE = preset("tiny"), corpus()
ALONE = World(0, 1, torch.device("cpu"))
READER = """
import sys
from pathlib import Path
from stap.train import shelf
people = shelf.load(Path(sys.argv[1]))
total = sum(float(getattr(people.training, name).sum()) for name in ("app", "start", "end", "label"))
print(total, "training.start.npy" in Path("/proc/self/maps").read_text(), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("view", [None, corpus(seed=3)], ids=["alone", "with a view"])
def test_what_is_mapped_is_what_was_saved(tmp_path: Path, view: object) -> None:
    """Every array and every user; apps are numbers here, and as many."""
    people = split(PEOPLE, TINY, "log") if view is None else apart(PEOPLE, replace(SHIPPED, fold="1/3"), corpus(seed=3))
    shelf.save(people, tmp_path / "people")
    found = shelf.load(tmp_path / "people")
    assert (found.names(), found.data, found.number) == (people.names(), people.data, people.number)
    assert (found.view is None) == (view is None)
    for part in ("training", "validation", "testing", *(["view"] if view else [])):
        saved, mapped = getattr(people, part), getattr(found, part)
        for field in shelf.FIELDS:
            ours, its = getattr(saved, field), getattr(mapped, field)
            assert ours.dtype == its.dtype
            np.testing.assert_array_equal(ours, its)
            assert not its.flags.writeable
        assert [len(names) for names in mapped.apps] == [len(names) for names in saved.apps]
        assert mapped.select(np.arange(len(mapped.users))).users == saved.users


def test_a_task_of_mapped_people_has_the_same_batches(tmp_path: Path) -> None:
    shelf.save(split(PEOPLE, TINY, "log"), tmp_path)
    tasks_ = [tasks.make(people, TINY, "log") for people in (split(PEOPLE, TINY, "log"), shelf.load(tmp_path))]
    epochs = [task.epoch(1, 0) for task in tasks_]
    assert len(epochs[0]) == len(epochs[1]) > 0
    for step in range(len(epochs[0])):
        for ours, its in zip(*(epoch.tensors(epoch.batch(step)) for epoch in epochs), strict=True):
            torch.testing.assert_close(ours, its, rtol=0, atol=0)


def test_one_process_alone_writes_nothing(tmp_path: Path) -> None:
    people = split(PEOPLE, TINY, "log")
    assert shelf.shared(lambda: people, tmp_path, ALONE) is people
    assert not list(tmp_path.iterdir())


def test_a_place_where_no_folder_can_be_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot make this folder"):
        shelf.save(split(PEOPLE, TINY, "log"), tmp_path / "file" / "people")


def test_two_processes_map_the_same_pages(tmp_path: Path) -> None:
    """What both have touched counts as shared in each of them, and as nobody's own."""
    large = corpus(users=8, usages=4000)
    people = split(large, TINY, "log")
    shelf.save(people, tmp_path)
    training = people.training
    wanted = sum(float(getattr(training, name).sum()) for name in ("app", "start", "end", "label"))
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(tmp_path)], stdin=-1, stdout=-1, text=True)
        for _ in range(2)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            total, mapped = reader.stdout.readline().split()
            assert (float(total), mapped) == (wanted, "True")
        for reader in readers:
            sizes = _mapping(reader.pid, tmp_path / "training.start.npy")
            assert sizes["Rss"] >= 8 * len(training.start) // 1024
            assert sizes["Private_Dirty"] == sizes["Private_Clean"] == 0
    finally:
        for reader in readers:
            reader.communicate("")


def _mapping(process: int, path: Path) -> dict[str, int]:
    """What /proc says of a mapped file, in KB."""
    lines = iter(Path(f"/proc/{process}/smaps").read_text().splitlines())
    for line in lines:
        if line.endswith(str(path)):
            break
    rows = (line.split() for line, _ in zip(lines, range(20), strict=False))
    return {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) == 3 and row[2] == "kB"}


@pytest.mark.slow
def test_both_workers_of_a_run_map_its_people(tmp_path: Path) -> None:
    """While it trains; afterwards the files are gone, and a refusal is said once."""
    log = log_file(tmp_path)
    process = start(command(tmp_path, "two", log, *TORCHRUN))
    wait_for(lambda: (tmp_path / "two" / "last.safetensors").exists())
    maps = [Path(f"/proc/{pid}/maps").read_text() for pid in workers(process.pid)]
    assert [str(tmp_path / "two" / "people" / "training.start.npy") in text for text in maps] == [True, True]
    finish(process)
    assert not (tmp_path / "two" / "people").exists()
    (tmp_path / "none.csv").write_text("app,start\n")
    refused = start(command(tmp_path, "three", tmp_path / "none.csv", *TORCHRUN[:-3], "--max-restarts", "0", "-m"))
    out, _ = refused.communicate(timeout=120)
    assert refused.returncode != 0
    assert out.count("stap: ") == 1
    assert "unexpected" not in out
