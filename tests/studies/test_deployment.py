"""The study of deployment: its arithmetic by hand, and the whole of it at toy size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli.made import call
from train.made import log_file

from stap.engine import STRATEGIES
from stap.studies.deployment import ENGINES, EVENTS, STRETCH, TOY, _threads, waited
from stap.weights import shipped

SCALAR, SHIPS = ENGINES


def test_the_papers_engine_waits_for_both_instances() -> None:
    found = {"active": [1.0, 2.0], "passive": [0.5, 3.0]}
    assert waited(SCALAR, found).tolist() == [1.5, 5.0]
    assert waited(SHIPS, found).tolist() == [1.0, 2.0]


def test_two_threads_are_done_when_the_slower_instance_is() -> None:
    """Active 1 and 3, passive 3 and 1: one thread takes 4 each, two take 3; where nobody waits they gain nothing."""
    found = {"active": [1.0, 3.0], "passive": [3.0, 1.0]}
    scalar, ships = _threads({SCALAR: found, SHIPS: found}).rows
    assert scalar == (SCALAR, "2.00", "2.00", "4.00", "4.00", "3.00", "3.00", "1.33")
    assert ships[3:] == ("2.00", "2.98", "2.00", "2.98", "1.33")


def test_the_study_of_deployment(tmp_path: Path) -> None:
    log, out = log_file(tmp_path), tmp_path / "result"
    done = call(
        "study", "deployment", "--log", f"p={log}", "--model", str(shipped()), "--scale", "toy", "--out", str(out)
    )
    assert done.exit_code == 0, done.output
    result = json.loads((out / "result.json").read_text())
    for found in result["engines"].values():
        assert len(found["active"]) == len(found["passive"]) == EVENTS["toy"] // STRETCH
    scalar, ships = (result["engines"][name] for name in ENGINES)
    alone, both = np.split(np.array(scalar["passive"]), [TOY.context // 2 // STRETCH])
    assert np.median(both) > 3 * np.median(alone), "in the first stage there is no passive instance"
    assert np.median(scalar["active"]) > np.median(ships["active"])
    assert scalar["weights MB"] > 2 * ships["weights MB"]
    rows = result["strategies"]["p"]
    assert list(rows) == list(STRATEGIES)
    for metric in ("HR@1", "HR@5", "MRR@5"):
        assert rows["iswi"][metric] == pytest.approx(rows["re-prefill"][metric]), "they see the same events"
    assert all(0 < row["p50"] <= row["p99"] <= row["max"] for row in rows.values())
    text = (out / "result.md").read_text()
    assert "as published" in text
    assert "two threads" in text
    assert (out / "figure.png").stat().st_size > 10_000
