"""The launcher's moment on people nobody trained on: what is added up, by hand, and that everybody is asked once."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.made import call, started
from train.made import corpus, log_file

from stap import registry
from stap.cli import tables
from stap.errors import BadInput
from stap.evaluate import LaunchRanks, launch, report_launches
from stap.events import UNKNOWN, Corpus, Moment, Usages
from stap.metrics import MISS, NAMES
from stap.predictors.base import fresh
from stap.studies.people import held_out
from studies.test_people import FOLDS, make_run

by_launch = import_module("stap.studies.launch")
launch_figures = import_module("stap.studies.launch_figures")

NAMED = ("again", "blend", "aosp")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("launch runs")
    return [make_run(folder / f"fold{n}", testing, rival=False) for n, testing in enumerate(FOLDS, 1)]


def person(name: str, apps: list[int], start: list[float], home: list[int]) -> Corpus:
    begin = np.array(start)
    usages = Usages(np.array(apps, np.int32), begin, begin + 1.0, np.array(home, np.int8))
    return Corpus.of([(name, tuple("abc"[: max(apps) + 1]), usages)])


def by_hand() -> dict[str, Any]:
    """Two folds of one person each, every usage a minute long.

    u: a, a again an hour after, b at once from a home screen, a a day later. v: a, b two minutes after, b again a
    minute after that, which is still at once; of v nobody knows about home screens.
    """
    people = [
        person("u", [0, 0, 1, 0], [0, 61, 62.5, 1500], [0, 0, 1, 0]),
        person("v", [0, 1, 1], [0, 3, 5], [UNKNOWN] * 3),
    ]
    ranks = {
        "blend": ([1, MISS, 1], [MISS, 2]),
        "aosp": ([1, MISS, 1], [MISS, 1]),
        "stap": ([1, MISS, 2], [MISS, 1]),
    }
    paused, same, home = ([1, 0, 1], [1, 0]), ([1, 0, 0], [0, 1]), ([0, 1, 0], [UNKNOWN] * 2)
    made = {
        name: [
            LaunchRanks(
                people[n].users,
                np.zeros(len(rank[n]), np.int64),
                np.array(rank[n], np.int32),
                np.full(len(rank[n]), 2, np.int32),
                np.array(paused[n], bool),
                np.array(same[n], bool),
                np.array(home[n]),
            )
            for n in range(2)
        ]
        for name, rank in ranks.items()
    }
    held = {
        "stap": np.array([[0.9, 0.8, 0.0], [0.4, 0.1, 0.5], [0.6, 0.5, 0.0], [0.5, 0.3, 0.5], [0.7, 0.7, 0.0]]),
        "blend": np.full((5, 3), 0.25),
    }
    found: dict[str, Any] = launch_figures.figures(launch_figures.Launched.over(people, made, held))
    return found


def test_figures_by_hand() -> None:
    found = by_hand()
    assert found["users"] == 2
    assert {scope: found[scope]["predictors"]["stap"]["n"] for scope in launch_figures.SCOPES} == {
        "pooled": 5, "pause": 3, "at_once": 2, "home": 1, "resumed": 1, "foreseen": 5
    }  # fmt: skip
    hits = {name: row["HR@1"] for name, row in found["pooled"]["predictors"].items()}
    assert hits == pytest.approx({"blend": 40.0, "aosp": 60.0, "stap": 40.0})
    assert found["pooled"]["lead"]["HR@1"] == {"best": "aosp", "points": pytest.approx(-20.0)}
    assert found["pooled"]["lead"]["MRR@3"] == {"best": "aosp", "points": pytest.approx(-10.0)}
    assert found["pooled"]["paired"]["HR@1"].points == pytest.approx(-20.0)
    assert not found["pooled"]["paired"]["HR@1"].told_apart
    assert found["at_once"]["lead"]["HR@1"] == {"best": "aosp", "points": 0.0}
    assert found["foreseen"]["predictors"]["stap"]["MRR@3"] == 50.0
    worst = found["worst user"]
    assert (worst["user"], worst["best classical"], worst["n"]) == ("u", "blend", 3), "a rule is no classical predictor"
    assert worst["margin"] == pytest.approx(-100 / 3)


def test_calibration_and_again_by_the_pause_by_hand() -> None:
    found = by_hand()
    first = found["calibration"]["top-1"]
    assert first["came"] == pytest.approx(40.0)
    assert first["foretold"] == pytest.approx(62.0)
    assert first["error"] == pytest.approx(100 * (0.1 + 0.4 + 0.6 + 0.5 + 0.3) / 5), "each in a bin of its own"
    unseen = found["calibration"]["unseen"]
    assert (unseen["foretold"], unseen["came"]) == (pytest.approx(20.0), pytest.approx(40.0))
    curve = found["again"]
    assert [row["n"] for row in curve.values()] == [2, 1, 0, 1, 1]
    assert curve["<= 1"] == {"n": 2, "came": 50.0, "stap": pytest.approx(40.0), "blend": 25.0}
    assert curve["1-5"] == {"n": 1, "came": 0.0, "stap": pytest.approx(30.0), "blend": 25.0}
    assert curve["30-240"] == {"n": 1, "came": 100.0, "stap": pytest.approx(80.0), "blend": 25.0}
    assert curve["> 240"]["came"] == 0.0


def test_pooled_over_folds_is_everybody_once(runs: list[Path]) -> None:
    """Classical predictors and rules know no folds: their figures are those of one pass over all users."""
    everybody = corpus(4)
    found = by_launch.run(held_out(everybody, runs), NAMED)
    assert found["users"] == 4
    for name in NAMED:
        wanted = report_launches(launch(everybody, registry.maker(name)))
        for scope in ("pooled", "pause", "foreseen"):
            assert found[scope]["predictors"][name] == pytest.approx(wanted[scope])
        assert {row["user"]: row["HR@1"][name] for row in found["by user"]} == pytest.approx(
            {user: row["HR@1"] for user, row in wanted["users"].items()}
        )
    assert found["home"] is None, "nobody knows of any home screen"
    assert list(found["pooled"]["predictors"]) == [*NAMED, "stap"]
    assert [Path(model["file"]).parent for model in found["models"]] == runs


def test_what_is_noted_belongs_to_the_launch(runs: list[Path]) -> None:
    """Whoever is asked at the same moments, and nowhere else, holds the same likely."""
    group = held_out(corpus(4), runs)[0]
    for name in launch_figures.WATCHED:
        ranks, held = by_launch.score(group, name)
        make, position = registry.maker(name, group.model), 0
        for user, who in enumerate(group.people.users):
            predictor: Any = fresh(make, who)
            before = None
            for opened, closed in group.people.events(user):
                if before is not None:
                    at = Moment(opened.minutes, opened.hour)
                    shares = predictor.rank(99, at)
                    unseen = predictor.unseen(at) if name == "stap" else 0.0
                    wanted = (shares[0][1], dict(shares)[before.app], unseen)
                    assert held[position] == pytest.approx(wanted, abs=1e-3)
                    assert sum(share for _, share in shares) + unseen == pytest.approx(1.0, abs=1e-4)
                    position += 1
                predictor.observe(opened)
                predictor.observe(closed)
                before = closed
        assert position == len(ranks.rank) == len(held)


def test_stap_alone_has_nobody_to_lead(runs: list[Path]) -> None:
    found = by_launch.run(held_out(corpus(4), runs), ["stap"])
    assert found["pooled"]["lead"]["HR@1"] == {"best": None, "points": None}
    assert found["worst user"] is None
    assert set(found["again"]["> 240"]) <= {"n", "came", "stap"}


def test_its_tables_fit_a_narrow_screen() -> None:
    from cli.test_tables import fits, printed

    shown = printed(tables.launches("held out", by_hand()))
    fits(shown, "aosp", "-20.00", "-33.33", *NAMES)
    assert "HR@1 aosp" in " ".join(shown.split())
    assert "resumed: these logs cannot tell" not in shown
    untold = printed(tables.launches("held out", by_hand() | {"home": None, "resumed": None}))
    assert "home, resumed: these logs cannot tell" in untold


@pytest.mark.slow
def test_command_line(runs: list[Path], tmp_path: Path) -> None:
    log, out, picture = log_file(tmp_path, users=4), tmp_path / "launch.json", tmp_path / "again.png"
    zero_shot = ("--zero-shot", log, "--model", runs[0] / "model.safetensors")
    folds = [word for run in runs for word in ("--runs", run)]
    words = ("--predictors", "again,blend,aosp", "--json", out, "--figure", picture)
    done = started("study", "launch", "--data", log, *folds, *zero_shot, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert set(found) == {"version", "logs", "held out", "zero-shot", "provenance", "tables"}
    assert found["logs"] == [str(log)] * 2
    assert picture.read_bytes().startswith(b"\x89PNG")
    for said in ("stap over the best", "worst user", "calibration of stap, again", "by minutes of pause"):
        assert said in done.stdout


def test_what_makes_no_sense_is_refused(runs: list[Path], tmp_path: Path) -> None:
    log = log_file(tmp_path, users=4)
    assert "--data goes with --runs" in str(call("study", "launch", "--data", log).exception)
    words = ("study", "launch", "--zero-shot", log, "--model", runs[0], "--predictors")
    unknown = call(*words, "oracle").exception
    assert isinstance(unknown, BadInput)
    assert "no predictor 'oracle'" in str(unknown)
