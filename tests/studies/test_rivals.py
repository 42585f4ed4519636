"""The studies of rivals: their counting by hand, and both as a whole at toy size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stap.events import Corpus, Usages
from stap.metrics import MISS
from stap.rivals.config import KINDS
from stap.studies.experiment import carry_out
from stap.studies.newcomers import Answers, Newcomers, before, told
from stap.studies.newcomers_figures import draw
from stap.studies.populations import NamedPeople
from stap.studies.rivals import LAUNCHERS, SHIPPED, SIMPLE, TRAINED, RivalTable, asked
from stap.studies.rivals_figures import difference

PEOPLE = NamedPeople("made", (), 10, (60, 70))


def log(*codes: int) -> Usages:
    """A usage a day, of one minute."""
    start = np.arange(0.0, 1440.0 * len(codes), 1440.0)
    return Usages(np.array(codes, np.int32), start, start + 1.0)


def test_differences_are_over_the_seeds_that_both_have() -> None:
    """a was asked twice: with and without seed 1 its share differs, and only seed 0 counts."""
    first = {0: {"a": [3, 0, 0, 0, 0, 1], "b": [4, 0, 0, 0, 0, 0]}, 1: {"a": [0, 0, 0, 0, 0, 9]}}
    second = {0: {"a": [1, 0, 0, 0, 0, 3], "b": [2, 0, 0, 0, 0, 2]}}
    found = difference(first, second)["HR@1"]
    assert found.points == pytest.approx(50.0)
    assert found.told_apart


def test_what_training_can_know_ends_with_the_day() -> None:
    corpus = Corpus.of([("old", ("x", "y", "z"), log(0, 1, 0, 2)), ("new", ("x",), log(0))])
    past = before(corpus, 2 * 1440.0)
    assert past.users == ("old",)
    assert past.apps == (("x", "y"),)
    app, person = Answers(corpus, 2 * 1440.0).unknown(past)
    assert app.tolist() == [False, False, True]  # of the answers y, x, z
    assert not person.any()


def test_answers_are_told_apart_by_how_often_the_app_was_opened() -> None:
    """x y x y x: answers y (its 1st), x (2nd), y (2nd), x (3rd); the first is before the day."""
    answers = Answers(Corpus.of([("a", ("x", "y"), log(0, 1, 0, 1, 0))]), 2 * 1440.0)
    assert answers.times.tolist() == [0, 1, 1, 2]
    found = told(answers, np.array([MISS, 1, 1, 2], np.int32))
    assert found["all"] == [2, 1, 0, 0, 0, 0]
    assert found["launches"]["1st"] == [0] * 6
    assert found["launches"]["2nd and 3rd"] == [2, 1, 0, 0, 0, 0]
    assert found["users"] == {"a": [2, 1, 0, 0, 0, 0]}


def test_who_is_told_the_moment_is_asked_of_it() -> None:
    """A predictor that answers with the hour it was asked of: only who is told can be right."""

    class Clock:
        def observe(self, event: object) -> None: ...

        def rank(self, k: int, at: object = None) -> list[tuple[str, float]]:
            return [("x" if getattr(at, "minutes", 0) == 2880.0 else "y", 1.0)]

    corpus = Corpus.of([("a", ("x", "y"), log(0, 1, 0))])
    assert asked(corpus, Clock, told=True)["a"] == [2, 0, 0, 0, 0, 0]
    assert asked(corpus, Clock, told=False)["a"] == [1, 0, 0, 0, 0, 1]


@pytest.mark.slow
def test_rivals_at_toy_size(tmp_path: Path) -> None:
    carry_out(RivalTable("toy", (PEOPLE,)), tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    people = result["populations"]["made"]
    for protocol in ("stream", "paper"):
        rows = people["scores"][protocol]
        assert set(rows) == {*SIMPLE, *LAUNCHERS, *SHIPPED, *TRAINED}
        for row in rows.values():
            assert set(row) == {"0", "1"}
            assert all(0 <= each["HR@1"] <= each["HR@5"] <= 100 for each in row.values())
    for seed in ("0", "1"):
        assert set(people["users"]["neusa"][seed]) == set(people["tested"][seed]) == set(people["users"]["stap"][seed])
    assert result["across data sets"]["neusa"].startswith("n/a: ")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_months_are_drawn_to_scale_and_seeds_as_bars(tmp_path: Path) -> None:
    def seed(hits: int) -> dict[str, object]:
        counts = [hits, 0, 0, 0, 0, 4 - hits]
        return {"all": counts, "launches": {"1st": counts}, "months": {"0": counts, "11": counts}}

    draw({"neusa": [seed(1), seed(3)]}, {})(tmp_path / "figure.json")
    charts = json.loads((tmp_path / "figure.json").read_text())["charts"]
    months = next(chart for chart in charts if chart["title"] == "HR@1 while time goes on")
    text = json.dumps(months)
    assert "[0, 11]" in text or "[0.0, 11.0]" in text, text
    assert "35.3" in text, text  # 25 and 75 percent


@pytest.mark.slow
def test_newcomers_at_toy_size(tmp_path: Path) -> None:
    carry_out(Newcomers("toy", (PEOPLE,)), tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    rows = result["by predictor"]
    assert {f"{kind}, any app" for kind in KINDS} < set(rows)
    assert rows["blend"][0]["launches"]["1st"][:-1] == [0] * 5  # nobody who ranks apps seen so far can know it
    known = result["outside"]["people"]
    assert sum(known[each][1] for each in known) == sum(rows["blend"][0]["all"])
    met = next(table for table in result["tables"] if table["title"].endswith("people known and new"))
    assert [row[0] for row in met["rows"]] == list(rows)
    assert all(not each["users"] for seeds in rows.values() for each in seeds)  # nobody's name is in a result
    assert (tmp_path / "figure.png").stat().st_size > 10_000
