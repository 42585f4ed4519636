"""Studies that train: their arithmetic by hand, and each of them as a whole at toy size."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.made import call
from train.made import log_file, table

from stap.cli.measure import study as study_commands
from stap.metrics import NAMES
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.studies import circuit, runs
from stap.studies.dynamics import FALL, fall, fitted
from stap.studies.everything import plan
from stap.studies.performance import CLASSICAL, _hits
from stap.studies.plateau import LOOKING, NAMING, SWITCHES, _mixed
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Recipe
from stap.train.config import TrainConfig
from stap.train.tasks.base import fresh
from stap.usage import save

SIZES = ModelConfig(vocabulary=20, context=32, dim=16, layers=2, heads=2, hidden=16)
PEOPLE = NamedPeople("synthetic", (), 4, (60, 90))


def lines(*losses: float) -> list[dict[str, Any]]:
    return [{"epoch": number, "loss": loss} for number, loss in enumerate(losses, 1)]


def test_the_fall_is_dated_between_two_epochs() -> None:
    """5.0 at V = 200: half-way from 5.2 to 4.8."""
    assert fall(lines(5.3, 5.2, 4.8, 4.0), 200) == pytest.approx(2.5)
    assert fall(lines(4.9, 4.0), 200) == 1.0
    assert fall(lines(5.3, 5.2), 200) is None
    bound = math.log(50) - FALL
    assert fall(lines(bound + 0.3, bound - 0.1), 50) == pytest.approx(1.75)


def test_the_fit_is_a_line_in_the_logarithm() -> None:
    exact = fitted({16: [5.0], 64: [7.0, None], 256: [9.0]})
    assert exact is not None
    assert (exact["slope"], exact["start"], exact["R2"]) == pytest.approx((1.0, 1.0, 1.0))
    off = fitted({2: [1.0], 4: [3.0], 8: [2.0]})  # mean 2; the line has 1.5, 2, 2.5: 1.5 of 2 are left over
    assert off is not None
    assert off["R2"] == pytest.approx(0.25)
    assert fitted({16: [5.0], 64: [None]}) is None


def test_figures_are_pooled_by_how_often_somebody_was_asked() -> None:
    zero = dict.fromkeys(NAMES, 0.0)
    pooled = runs.pooled([{"n": 1, **zero, "HR@1": 100.0}, {"n": 3, **zero}, {"n": 0}])
    assert pooled["HR@1"] == 25.0
    assert runs.spread([1.0, 3.0]) == "2.00 ± 1.41"
    assert runs.spread([1.0]) == "1.00"


def test_a_probe_asks_where_something_came_in_between() -> None:
    """Usages a b a c c' b: the third looks back to the first, the sixth to the second; c after c is no other usage."""
    app = np.repeat(np.array([[0, 1, 0, 2, 3, 1]]), 2, axis=1)
    asked, last = circuit._asked(app, np.array([6]))
    assert asked.tolist() == [[0, 5], [0, 11]]
    assert last.tolist() == [0, 2]


def test_who_looks_inside_changes_nothing() -> None:
    corpus = PEOPLE.read()
    torch.manual_seed(0)
    model = Transformer(replace(SIZES, vocabulary=200))
    watch = circuit.probe(corpus, 200, 32)
    one = torch.randint(0, 20, (2, 32))
    inputs = one, one % 2, torch.arange(64.0, dtype=torch.float64).view(2, 32), torch.zeros(2, 32)
    before = model(*inputs)
    first = watch(model)
    assert torch.equal(model(*inputs), before)
    assert model.training
    assert watch(model) == first
    assert 0 < first["looks at its last use"] < 100
    assert 1 < first["rank"] <= 16


def test_a_model_that_begins_by_copying_names_what_it_sees() -> None:
    settings = TrainConfig(model=replace(SIZES, vocabulary=12, heads=1, tied_apps=True))
    assert max(map(float, circuit._named(fresh(settings)))) == 1.0
    untied = replace(settings, model=replace(settings.model, tied_apps=False))
    assert max(map(float, circuit._named(fresh(untied)))) < 0.7


def test_halves_of_a_model_are_told_apart() -> None:
    new, donor = (Transformer(SIZES).state_dict() for _ in range(2))
    qkv = "blocks.0.attention.qkv.weight"
    looks, names = _mixed(new, donor, [LOOKING]), _mixed(new, donor, [NAMING])
    assert torch.equal(looks[qkv][:32], donor[qkv][:32])
    assert torch.equal(looks[qkv][32:], new[qkv][32:])
    assert torch.equal(names[qkv][:32], new[qkv][:32])
    assert torch.equal(names[qkv][32:], donor[qkv][32:])
    assert torch.equal(names["head.weight"], donor["head.weight"])
    assert torch.equal(looks["head.weight"], new["head.weight"])
    assert all(torch.equal(_mixed(new, donor, [])[name], tensor) for name, tensor in new.items())


def test_few_people_come_up_more_often() -> None:
    recipe = Recipe.of("here")
    few, many = (NamedPeople("synthetic", (), count, (100, 100)) for count in (5, 10))
    assert recipe.settings(few, 0).epochs == 2 * recipe.settings(many, 0).epochs
    short = recipe.settings(few, 3, 64)
    assert (short.seed, short.model.context, short.curriculum) == (3, 64, ())


def test_first_choices_are_counted_from_a_persons_figures() -> None:
    """A third of three; who was never asked is not there. Two seeds stay apart."""
    row = {**dict.fromkeys(NAMES, 0.0), "n": 3, "HR@1": 100 / 3}
    assert _hits([{"a": row, "b": {"n": 0}}, {"a": row}]) == {
        0: {"a": [1, 0, 0, 0, 0, 2]},
        1: {"a": [1, 0, 0, 0, 0, 2]},
    }


def test_whoever_lacks_the_papers_data_is_told_where_it_is(tmp_path: Path) -> None:
    done = call("study", "data", "--lsapp", tmp_path / "lsapp.tsv", "--out", tmp_path / "out")
    said = "no such file; check the name, or get lsapp.tsv.gz of github.com/aliannejadi/LSApp: 292"
    assert said in str(done.exception)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return f"a={log_file(tmp_path_factory.mktemp('a'), 12)}", f"b={log_file(tmp_path_factory.mktemp('b'), 11)}"


def study(name: str, folder: Path, *arguments: str | Path) -> dict[str, Any]:
    done = call("study", name, *arguments, "--scale", "toy", "--out", folder)
    assert done.exit_code == 0, done.output
    assert (folder / "figure.png").stat().st_size > 10_000
    assert (folder / "figure.svg").exists()
    assert (folder / "result.md").read_text().count("|") > 15
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    assert result["provenance"]["study"] == name
    return result


@pytest.mark.slow
def test_performance(logs: tuple[str, str], tmp_path: Path) -> None:
    result = study("performance", tmp_path, "--log", logs[0], "--log", logs[1])
    for protocol in ("stream", "paper"):
        rows = result["scores"][protocol]
        assert list(rows) == ["in a", "a -> b", "b -> a", "in b"]
        for row in rows.values():
            assert len(row["stap"]) == 2
            assert all(0 <= figures["HR@1"] <= figures["HR@3"] <= 100 for each in row.values() for figures in each)
        across = rows["a -> b"]["previous"]
        assert across[0] == across[1]  # nobody's seed changes what one line of code says of everybody
    assert "as published" in result
    tested = result["differences"]["stream"]
    assert set(tested["in a"]) == set(CLASSICAL)
    assert tested["a -> b"]["mru"][1] > 0  # which is never right
    assert all(low <= points <= high for row in tested.values() for points, low, high in row.values())


@pytest.mark.slow
def test_ablation(logs: tuple[str, str], tmp_path: Path) -> None:
    result = study("ablation", tmp_path, "--log", logs[0], "--log", logs[1])
    base, other = result["test"]["base"][0], result["test"]["non-shuffle"][0]
    assert result["lost"]["HR@1"] == [pytest.approx(base["HR@1"] - other["HR@1"])]
    for run in (result["lines"]["base"][0], result["lines"]["non-shuffle"][0]):
        assert all(set(NAMES) <= line["training"].keys() and set(NAMES) <= line["validation"].keys() for line in run)
    text = (tmp_path / "result.md").read_text()
    assert "| lost there, computed | 6.83 | 7.60 | 9.65 | 7.03 | 7.50 |" in text  # the paper's table says 6.47


@pytest.mark.slow
def test_context(logs: tuple[str, str], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = tmp_path / "model.safetensors"
    weights.save(Transformer(replace(SIZES, vocabulary=200)), model)
    result = study("context", tmp_path / "out", "--log", logs[0], "--model", model)
    for panel in ("validation", "test", "one model, given less"):
        assert list(result["panels"][panel]["a"]) == ["16", "64"]
    assert result["events of a person"]["a"]["longest"] <= 200


@pytest.mark.slow
def test_dynamics_and_a_kill(logs: tuple[str, str], tmp_path: Path) -> None:
    """A job that is there is not done again; a run that is there goes on."""
    result = study("dynamics", tmp_path, "--log", logs[0])
    assert list(result["falls"]) == ["16", "32"]
    assert len(result["falls"]["32"]) == 2
    watched = result["lines"]["32-0"][-1]["watch"]
    assert set(watched) == set(circuit.FIGURES)
    (tmp_path / "jobs" / "32-0.json").unlink()
    again = study("dynamics", tmp_path, "--log", logs[0])
    assert again["lines"] == result["lines"]


@pytest.mark.slow
def test_plateau(logs: tuple[str, str], tmp_path: Path) -> None:
    result = study("plateau", tmp_path, "--log", logs[0])
    assert list(result["switches"]) == list(SWITCHES)
    losses = {name: of_seeds[0][0]["loss"] for name, of_seeds in result["lines"]["switches"].items()}
    assert losses["tied apps"] < losses["as in the paper"] - 0.05  # who copies from the first step has a head start
    assert list(result["lines"]["halves"]) == ["nothing", "how it looks", "how it names", "both"]


@pytest.mark.slow
def test_timespan_and_vocabulary(logs: tuple[str, str], tmp_path: Path) -> None:
    result = study("timespan", tmp_path / "t", "--log", logs[0])
    assert sum(result["users"].values()) == 12
    save(table(3, apps=15), tmp_path / "many.parquet")
    rooms = study("vocabulary", tmp_path / "v", "--log", f"many={tmp_path / 'many.parquet'}")["rooms"]["many"]
    assert list(rooms) == ["12"]
    assert rooms["12"]["users"] == 3
    assert rooms["12"]["all"].keys() == set(NAMES)


def test_all_are_planned_once(tmp_path: Path) -> None:
    people = (PEOPLE, PEOPLE._replace(name="others"))
    names = [each.name for each in plan("toy", people, 3, tmp_path)]
    assert len(set(names)) == len(names)
    known = {command.name for command in study_commands.registered_commands}
    assert set(names) <= known
    assert not {"rivals", "newcomers"} & set(names)  # four people are too few to share out
    enough = [each.name for each in plan("toy", (PEOPLE, PEOPLE._replace(name="ten", made=10)), 3, tmp_path)]
    assert {"rivals", "newcomers"} <= set(enough)
