"""Rivals learn what can be learned, answer alike event by event and all at once, and say what they cannot know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli.made import call, write

from rivals.made import best_hits, chain, small
from stap import evaluate
from stap.errors import BadInput
from stap.evaluate import Terms, _collect, _replay, score
from stap.events import Corpus, Moment
from stap.metrics import MISS
from stap.model.weights import stored
from stap.registry import maker
from stap.rivals.config import KINDS
from stap.rivals.predictor import Rivals
from stap.tally import NOT_APPLICABLE, OUTSIDE
from stap.terminal import quiet
from stap.train import run

TERMS = Terms(64, 200)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind, hardly trained, in a folder of its name."""
    folder = tmp_path_factory.mktemp("rivals")
    people = chain(4, 40, False)
    for kind in KINDS:
        run.train(people, small(kind, epochs=1), folder / kind, "made", words=False)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_rival_comes_within_two_points_of_the_best_answer(kind: str, tmp_path: Path) -> None:
    """AppUsage2Vec adds the hour to what it makes of apps, so that one cannot turn the other: it gets no hours."""
    by_hour = kind != "appusage2vec"
    run.train(chain(9, 500, by_hour), small(kind), tmp_path, "made", words=False)
    strangers = chain(3, 500, by_hour, seed=1)
    found = score(strangers, {kind: maker(kind, tmp_path)}, "stream", TERMS).tallies[kind].report()
    assert found["pooled"]["HR@1"] > best_hits(strangers, by_hour) - 2.0


def test_a_table_says_which_files_the_rivals_are(runs: Path, tmp_path: Path) -> None:
    found, people = tmp_path / "found.json", chain(2, 30, False).people()
    log = write(tmp_path / "log.parquet", *((user, names[code]) for user, names, log in people for code in log.app))
    asked = ("--predictors", "mfu,neusa,tgt", "--protocol", "stream", "--model", runs, "--json", found)
    assert call("evaluate", log, *asked).exit_code == 0
    result = json.loads(found.read_text())
    assert result["model"] is None
    assert [Path(result["rivals"][kind]["file"]).parent for kind in ("neusa", "tgt")] == [runs / "neusa", runs / "tgt"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_at_once_is_event_by_event(kind: str, runs: Path) -> None:
    """Also with an app that training never saw, in the middle of a history."""
    people = chain(2, 30, False, seed=3)
    people = Corpus.of((user, ("strange", *names[1:]), log) for user, names, log in people.people())
    rival = maker(kind, runs)
    at_once = evaluate.stream(people, rival)
    assert isinstance(rival, Rivals)
    one_by_one = _collect(
        people,
        (
            (user, _replay(rival.of(people.users[user]), people.events(user), people.labels(user), quiet))
            for user in range(2)
        ),
    )
    assert at_once.rank.tolist() == one_by_one.rank.tolist()


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people, settings = chain(4, 60, False), small("tgt", epochs=3)
    run.train(people, settings, tmp_path / "whole", "made", words=False)

    whole = run._train_epoch

    def killed(here: run.Run, *rest: object) -> None:
        if here.progress.epoch == 1:
            raise KeyboardInterrupt
        whole(here, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "_train_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        run.train(people, settings, tmp_path / "killed", "made", words=False)
    monkeypatch.undo()
    run.train(people, settings, tmp_path / "killed", "made", "resume", words=False)
    whole_run, killed_run = (stored(tmp_path / name / "best.safetensors") for name in ("whole", "killed"))
    assert {name: array.tobytes() for name, array in whole_run.items()} == {
        name: array.tobytes() for name, array in killed_run.items()
    }


def test_an_app_outside_the_vocabulary_is_a_miss_and_counted(runs: Path) -> None:
    """One app of six is renamed: as many answers as it was the next one."""
    people = chain(2, 50, False, seed=4)
    people = Corpus.of((user, ("strange", *names[1:]), log) for user, names, log in people.people())
    answers = int((people.label == 0).sum())
    tally = score(people, {"neusa": maker("neusa", runs)}, "stream", TERMS).tallies["neusa"]
    assert tally.report()[OUTSIDE] == answers
    assert len(tally) == 98
    assert tally.counts[:, -1].sum() >= answers
    paper = score(people, {"neusa": maker("neusa", runs, protocol="paper")}, "paper", TERMS).tallies["neusa"]
    assert paper.report()[OUTSIDE] == 2 * answers


def test_another_data_set_gets_no_answer_but_the_reason(runs: Path) -> None:
    people = chain(2, 50, False, seed=4)
    strange = Corpus.of((user, tuple(f"their {name}" for name in names), log) for user, names, log in people.people())
    entry = score(strange, {"cosem": maker("cosem", runs)}, "stream", TERMS).tallies["cosem"].report()
    assert entry[NOT_APPLICABLE].startswith("98 of 98 answers are not in its fixed vocabulary")
    assert entry["pooled"] == {"n": 0}


def test_asked_at_a_moment_it_goes_by_that_clock_and_never_says_again(runs: Path) -> None:
    people = chain(1, 30, False, seed=5)
    predictor = maker("tgt", runs)()
    for pair in people.events(0):
        for event in pair:
            predictor.observe(event)
    last = people.apps[0][people.app[-1]]
    later = predictor.rank(6, Moment(float(people.end[-1]) + 600.0, 0.0))
    assert last not in dict(later)
    assert later != predictor.rank(6)
    assert sum(share for _, share in later) == pytest.approx(1.0)


def test_the_list_of_installed_apps_holds_what_is_still_to_come(runs: Path) -> None:
    """With it the first launch of an app can be right; with the apps seen so far it cannot."""
    people = chain(3, 40, False, seed=6)
    rival = maker("maple", runs)
    assert isinstance(rival, Rivals)
    first = np.zeros(len(people.app), bool)
    for user in range(3):
        rows = people.rows(user)
        first[rows.start + np.unique(people.app[rows], return_index=True)[1]] = True
    follows = np.flatnonzero(first[1:] & (people.label[:-1] >= 0))
    place = np.flatnonzero(people.label >= 0)
    where = 2 * np.searchsorted(place, follows) + 1  # after the close before
    assert (evaluate.stream(people, rival).rank[where] == MISS).all()
    assert (evaluate.stream(people, rival.with_list("installed")).rank[where] <= 6).all()


def test_what_is_no_rival_or_another_one_is_refused(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has to be trained"):
        maker("neusa")
    with pytest.raises(BadInput, match="a model of cosem, not of neusa"):
        maker("neusa", runs / "cosem")
    raw = (runs / "tgt" / "best.safetensors").read_bytes()
    (tmp_path / "hurt.safetensors").write_bytes(raw.replace(b'\\"dim\\": 16', b'\\"dim\\": 32'))
    with pytest.raises(BadInput):
        maker("tgt", tmp_path / "hurt.safetensors")
    with pytest.raises(BadInput, match="outside 1"):
        replace(small("tgt").rival, dim=0)
