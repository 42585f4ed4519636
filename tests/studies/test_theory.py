"""Bayes' rule over all bijections, by hand and by computation; and the study as a whole, killed and resumed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from rich.text import Text

from stap.describe.canvas import drawing
from stap.errors import BadInput
from stap.studies import experiment
from stap.studies.chains import KINDS, Bayes, transitions, walk
from stap.studies.theory import Theory, exactly
from stap.terminal import Grid


def test_two_apps_by_hand() -> None:
    """P: from 0 always to 1, from 1 to 0 or 1 alike. What was seen is 0 1 1: only the phi that keeps names can be."""
    bayes = Bayes(np.array([[0.0, 1.0], [0.5, 0.5]]))
    assert bayes.phis.tolist() == [[0, 1], [1, 0]]
    bayes.observe(0)
    assert bayes.posterior().tolist() == [0.5, 0.5]
    # If 0 is app 0, 1 follows surely; if it is app 1, both may.
    assert bayes.predictive().tolist() == [0.25, 0.75]
    bayes.observe(1)
    assert bayes.posterior() == pytest.approx([2 / 3, 1 / 3])
    # As app 1 it goes either way; as app 0 it goes to 0.
    assert bayes.predictive() == pytest.approx([2 / 3 * 0.5 + 1 / 3, 2 / 3 * 0.5])
    bayes.observe(1)
    assert bayes.posterior().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_chains_are_what_they_are_called(kind: str) -> None:
    chances = transitions(kind, 4, 1)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert not chances.diagonal().any()
    changed = chances[np.ix_([1, 0, 2, 3], [1, 0, 2, 3])]
    assert np.allclose(chances, changed) == (kind in ("habits, two alike", "no habits"))
    steps = walk(chances, 20_000, np.random.default_rng(0))
    counted = np.zeros((4, 4))
    np.add.at(counted, (steps[:-1], steps[1:]), 1)
    often = counted.sum(axis=1) > 1000
    assert often.sum() >= 2
    assert (counted / counted.sum(axis=1, keepdims=True))[often] == pytest.approx(chances[often], abs=0.05)


def test_the_price_of_not_knowing_phi_is_bounded() -> None:
    """On average over walks at most log n! nats in a life; none where phi makes no difference."""
    for kind in KINDS:
        found = exactly(kind, 3, 100, 64)
        assert found["divergence"] == sorted(found["divergence"])
        assert found["divergence"][-1] <= math.log(math.factorial(3)) + 0.1
        assert found["distance"][-1] <= found["distance"][0] + 1e-12
    assert found["divergence"][-1] == pytest.approx(0.0, abs=1e-9)  # no habits
    alike = exactly("habits, two alike", 4, 10, 512)
    assert alike["posterior"][-1] == pytest.approx(0.5, abs=0.02)  # two phis explain everything equally well
    assert alike["distance"][-1] < 0.005


def test_a_study_goes_on_where_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is done is not done again; a folder belongs to one study."""
    done: list[str] = []

    class Small(experiment.Experiment):
        name, question = "small", "Does it resume?"

        def jobs(self) -> list[experiment.Job]:
            return [experiment.Job(key, self.work, (key,)) for key in "abc"]

        def work(self, key: str) -> experiment.Found:
            done.append(key)
            if key == "c" and len(done) < 4:
                raise KeyboardInterrupt
            return {"key": key}

        def outcome(self, found: object) -> experiment.Outcome:
            table = Grid("A table", ("what", "value"), [("one", Text("1.0", "bold"))], "Said.")
            return experiment.Outcome({"found": found}, (table,), draw)

    def draw(path: Path) -> None:
        with drawing(path, (3, 3), "Explained.") as figure:
            figure.subplots().plot([1, 2], [3, 4])

    with pytest.raises(KeyboardInterrupt):
        experiment.carry_out(Small("toy"), tmp_path)
    assert not (tmp_path / "result.json").exists()
    experiment.carry_out(Small("toy"), tmp_path)
    assert done == ["a", "b", "c", "c"]
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["found"] == {key: {"key": key} for key in "abc"}
    assert {"command", "version", "revision", "seconds", "scale"} <= set(result["provenance"])
    said = {"title": "A table", "headers": ["what", "value"], "rows": [["one", "1.0"]], "caption": "Said."}
    assert result["tables"] == [said]
    assert result["figure"]["charts"][0]["series"][0]["y"] == [3.0, 4.0]
    with pytest.raises(BadInput, match="another study is in it"):
        experiment.carry_out(Small("here"), tmp_path)
    (tmp_path / "jobs" / "a.json").write_text("{")
    with pytest.raises(BadInput, match="damaged: no JSON; delete it"):
        experiment.carry_out(Small("toy"), tmp_path)


@pytest.mark.slow
def test_theory_at_toy_size(tmp_path: Path) -> None:
    """With two processes; the tiny model learns, and Bayes' rule is nowhere worse on average."""
    experiment.carry_out(Theory("toy"), tmp_path, 2)
    result = json.loads((tmp_path / "result.json").read_text())
    model = result["model"]
    assert np.mean(model["entropy"]) < np.mean(model["bayes"]) < np.mean(model["model"]) < math.log(3)
    assert set(result["chains"]) == set(KINDS)
    for name in ("result.md", "figure.png", "figure.svg"):
        assert (tmp_path / name).stat().st_size > 200
