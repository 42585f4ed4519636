"""gbdt: learns, knows no names, scores the same positions as everybody, and refuses what is no ranker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from predictors.streams import at, fed, usages
from stap import prior
from stap.errors import BadInput
from stap.evaluate import report, stream
from stap.events import Corpus, Usages
from stap.predictors import CLASSICAL, gbdt, trees
from stap.train import trees as training

TREES = 40


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rival") / "gbdt.txt"
    training.train(prior.people(8, seed=5, usages=(300, 600)), out, trees=TREES)
    return out


@pytest.fixture(scope="module")
def strangers() -> Corpus:
    return prior.people(4, seed=6, usages=(200, 300))


def test_what_it_learned_beats_the_statistics_it_is_made_of(ranker: Path, strangers: Corpus) -> None:
    learned = report(stream(strangers, gbdt.load(ranker)), "stream")["pooled"]
    for name in ("mfu", "previous", "markov"):
        assert learned["MRR@5"] > report(stream(strangers, CLASSICAL[name]), "stream")["pooled"]["MRR@5"] + 1


def test_a_view_of_who_is_held_out_stays_out(tmp_path: Path) -> None:
    """Of the view, only those count who train."""
    everybody = prior.people(3, seed=5, usages=(300, 600))
    some = everybody.select(np.array([0, 1]))
    files = [tmp_path / "all", tmp_path / "some", tmp_path / "none"]
    for file, view in zip(files, (everybody, some, None), strict=True):
        training.train(some, file, trees=2, view=view)
    whole, own, alone = (file.read_text() for file in files)
    assert whole == own != alone


def test_without_trees_that_split_the_order_is_the_blends(tmp_path: Path, ranker: Path, strangers: Corpus) -> None:
    """Nothing learned: every candidate has the same score, and training does change ranks."""
    head, _, _ = ranker.read_text().partition("Tree=0")
    stump = tmp_path / "stump.txt"
    stump.write_text(head + "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0\n\n\nend of trees\n")
    nothing, blend = (stream(strangers, make) for make in (gbdt.load(stump), CLASSICAL["blend"]))
    assert np.mean(nothing.rank == blend.rank) > 0.99  # the engine's blend is in float32 here and there
    assert np.mean(stream(strangers, gbdt.load(ranker)).rank == nothing.rank) < 0.95


def test_scores_the_positions_that_everybody_scores(ranker: Path, strangers: Corpus) -> None:
    own, other = stream(strangers, gbdt.load(ranker)), stream(strangers, CLASSICAL["mfu"])
    assert own.users == other.users
    np.testing.assert_array_equal(own.user, other.user)
    np.testing.assert_array_equal(own.opened, other.opened)


def test_names_mean_nothing(ranker: Path) -> None:
    make, story = gbdt.load(ranker), "abcabdacbadcab" * 3
    renamed = dict(zip("abcd", ["x y", "=", "Ω", "a"], strict=True))
    plain, other = make(), make()
    for app in usages(story):
        plain.observe(app)
        other.observe(app._replace(app=renamed[app.app]))
        assert [(renamed[name], p) for name, p in plain.rank(9)] == other.rank(9)


def test_ranking_is_sound(ranker: Path) -> None:
    predictor = gbdt.load(ranker)()
    assert predictor.rank(5) == []
    fed(predictor, [at("a", 1, 10.0)])
    assert predictor.rank(5) == []  # the current app is never next
    fed(predictor, usages("abcdefgh" * 5))
    ranking = predictor.rank(100)
    probabilities = [p for _, p in ranking]
    assert {app for app, _ in ranking} == set("abcdefg")
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) == pytest.approx(1)
    assert predictor.rank(3) == ranking[:3]
    assert predictor.rank(0) == []


def test_same_people_same_file(tmp_path: Path, ranker: Path) -> None:
    again = tmp_path / "again.txt"
    training.train(prior.people(8, seed=5, usages=(300, 600)), again, trees=TREES)
    assert again.read_bytes() == ranker.read_bytes()


def test_rewriting_keeps_every_score(ranker: Path) -> None:
    import lightgbm

    rows = np.random.default_rng(0).normal(0, 4, (500, len(gbdt.FEATURES))).astype(np.float32)
    whole = lightgbm.Booster(model_file=str(ranker))
    anew = lightgbm.Booster(model_str=trees.rewrite(ranker.read_text(), gbdt.FEATURES))
    np.testing.assert_array_equal(whole.predict(rows, raw_score=True), anew.predict(rows, raw_score=True))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("tree\n", "forest\n", "no whole LightGBM model"),
        ("end of trees", "end", "no whole LightGBM model"),
        ("feature_names=blend", "feature_names=blond", "other features"),
        ("num_class=1", "num_class=2", "more than one score"),
        ("split_feature=", "split_feature=9999 ", "tree 0 is damaged"),
        ("left_child=1", "left_child=0", "left_child"),
        ("left_child=1", "left_child=99999", "left_child"),
        ("left_child=1", "left_child=-99999", "left_child"),
        ("threshold=", "threshold=nan ", "threshold"),
        ("leaf_value=-", "leaf_value=x", "damaged"),
        ("num_leaves=", "num_leaves=9999999", "damaged"),
        ("num_cat=0", "num_cat=1", "not a kind of tree"),
        ("decision_type=2", "decision_type=3", "decision_type"),
        ("right_child=", "wrong_child=", "right_child"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, ranker: Path, old: str, new: str, why: str) -> None:
    text = ranker.read_text()
    assert old in text
    path = tmp_path / "damaged.txt"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput, match=why) as caught:
        gbdt.load(path)
    assert "\n" not in str(caught.value)
    assert "stap rival" in str(caught.value)


def test_no_damage_takes_the_process_down(tmp_path: Path, ranker: Path) -> None:
    """LightGBM reads what a file points to, wherever that is: whatever gets past the checks must be safe to ask."""
    rng, whole = np.random.default_rng(0), ranker.read_bytes().partition(b"Tree=4\n")[0] + b"end of trees\n"
    path, refused = tmp_path / "damaged.txt", 0
    for _ in range(100):
        raw = bytearray(whole)
        for place in rng.integers(len(raw), size=3).tolist():
            noise = rng.choice(list(b"0123456789-. \n=e"), rng.integers(1, 4))
            raw[place : place + int(rng.integers(40))] = bytes(noise.tolist())
        path.write_bytes(raw)
        try:
            assert len(fed(gbdt.load(path)(), usages("abcab")).rank(5)) == 2
        except BadInput:
            refused += 1
    assert refused > 50


def test_foreign_files_are_refused(tmp_path: Path, ranker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "foreign"
    for raw in (b"", b"user,app,start\n", bytes(range(256)), ranker.read_bytes()[: 2 * ranker.stat().st_size // 3]):
        path.write_bytes(raw)
        with pytest.raises(BadInput, match="no ranker"):
            gbdt.load(path)
    with pytest.raises(BadInput, match="cannot read"):
        gbdt.load(tmp_path / "nowhere")
    monkeypatch.setattr(gbdt, "LARGEST", 1000)
    with pytest.raises(BadInput, match="more than"):
        gbdt.load(ranker)


def test_nothing_to_learn_leaves_no_file(tmp_path: Path) -> None:
    lonely = prior.corpus({"one": Usages(np.zeros(1, np.int32), np.zeros(1), np.ones(1))})
    with pytest.raises(BadInput, match="nothing to train on"):
        training.train(lonely, tmp_path / "gbdt.txt")
    assert not list(tmp_path.iterdir())
