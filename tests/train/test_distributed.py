"""torchrun: two processes train as one does, and a worker's death is survived."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from stap.train import journal

from .made import log_file

CONFIG = """
epochs = 5
curriculum = [[32, 3]]
tokens_per_batch = 512
tokens_at_once = 64
checkpoint_seconds = 0.0
clip = 0.0
precision = "fp32"  # sums in bf16 differ by their order
"""
pytestmark = pytest.mark.slow


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": ""}


def command(folder: Path, name: str, log: Path, *launcher: str) -> list[str]:
    (folder / "c.toml").write_text(CONFIG)
    arguments = ["train", "--data", str(log), "--out", str(folder / name), "--config", str(folder / "c.toml")]
    return [sys.executable, "-m", *launcher, "stap", *arguments, "--preset", "tiny"]


TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "3", "-m")


def finish(process: subprocess.Popen[str]) -> str:
    try:
        out, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun takes its workers with it
        pytest.fail(f"it hangs:\n{process.communicate(timeout=60)[0][-3000:]}")
    assert process.returncode == 0, out[-3000:]
    return out


def start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def curve(folder: Path) -> list[list[float]]:
    lines = journal.read(folder / "log.jsonl")
    return [[line["epoch"], line["steps"], line["events"], line["loss"], line["validation"]["loss"]] for line in lines]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A log, and the folder of one process trained on it."""
    folder = tmp_path_factory.mktemp("alone")
    log = log_file(folder)
    finish(start(command(folder, "one", log)))
    return log, folder / "one"


def test_two_processes_train_as_one(tmp_path: Path, alone: tuple[Path, Path]) -> None:
    log, one = alone
    out = finish(start(command(tmp_path, "two", log, *TORCHRUN)))
    assert out.count("best validation loss") == 1  # only one of them speaks
    for two_line, one_line in zip(curve(tmp_path / "two"), curve(one), strict=True):
        assert two_line == pytest.approx(one_line, abs=2e-4)
    # AdamW's steps hardly depend on the gradient's scale, so a wrong one shows only in its moments.
    moments = [load_file(run / "last.safetensors")["exp_avg.head.weight"] for run in (one, tmp_path / "two")]
    torch.testing.assert_close(moments[1], moments[0], rtol=0.02, atol=float(moments[0].abs().max()) * 0.02)


def workers(launcher: int) -> list[int]:
    """The launcher's children that run stap."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
            line = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == launcher and b"stap" in line.split(b"\0"):
            found.append(int(status.parent.name))
    return sorted(found)


def wait_for(what: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def test_a_workers_death_is_survived(tmp_path: Path, alone: tuple[Path, Path]) -> None:
    """One is killed after the first checkpoint; torchrun starts both anew, and the run ends as it would have."""
    log, one = alone
    process = start(command(tmp_path, "two", log, *TORCHRUN))
    wait_for(lambda: (tmp_path / "two" / "last.safetensors").exists())
    os.kill(workers(process.pid)[0], signal.SIGKILL)
    out = finish(process)
    assert "closing signal" in out  # torchrun took the other one down too
    for two_line, one_line in zip(curve(tmp_path / "two"), curve(one), strict=True):
        assert two_line == pytest.approx(one_line, abs=2e-4)


def test_a_run_that_is_there_stays_as_it_is(alone: tuple[Path, Path]) -> None:
    """Refused at once, and again when torchrun tries once more."""
    log, one = alone
    before = {path.name: path.read_bytes() for path in one.iterdir() if path.is_file()}
    process = start(command(one.parent, "one", log, *TORCHRUN[:-3], "--max-restarts", "1", "-m"))
    out, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert out.count("there is a run in it") >= 2
    assert before == {path.name: path.read_bytes() for path in one.iterdir() if path.is_file()}
