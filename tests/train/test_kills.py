"""SIGKILL at random moments; what comes out is what an uninterrupted run gives, to the last bit.

STAP_KILLS=50 pytest -m slow tests/train/test_kills.py kills more often.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from stap.train import journal

KILLS = int(os.environ.get("STAP_KILLS", "5"))


def lines(folder: Path) -> list[dict[str, Any]]:
    """The log without its clock."""
    return [{k: v for k, v in line.items() if k != "seconds"} for line in journal.read(folder / "log.jsonl")]


def run(folder: Path, kills: int) -> str:
    command = [sys.executable, "-m", "train.kill_often", str(folder), str(kills), "1"]
    places = [str(Path(__file__).parents[1]), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_killed_and_resumed_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    run(tmp_path / "calm", 0)
    assert run(tmp_path / "killed", KILLS).endswith(f"{KILLS} kills\n")
    assert lines(tmp_path / "killed") == lines(tmp_path / "calm")
    assert [line["epoch"] for line in lines(tmp_path / "calm")] == list(range(1, 7))
    assert not list((tmp_path / "killed").glob(".*"))
    for name in ("best.safetensors", "last.safetensors"):  # tensors, for the header lists its metadata in any order
        calm, killed = (load_file(tmp_path / folder / name) for folder in ("calm", "killed"))
        assert calm.keys() == killed.keys()
        assert all(torch.equal(tensor, killed[key]) for key, tensor in calm.items())
