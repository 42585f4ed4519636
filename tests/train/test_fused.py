"""Training with evidence: tables, windows, phi, the recipe's run folder, adapting to one person."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from stap import prior
from stap.engine import EngineModel, Settings
from stap.errors import BadInput
from stap.events import Corpus
from stap.model import weights
from stap.model.export import export
from stap.predictors.blend import Blend
from stap.reference.session import Stap
from stap.train import adapt, fused
from stap.train.checkpoint import Progress
from stap.train.folds import hold_out
from stap.train.population import Population
from stap.train.recipe import PARTS, TINY, Recipe, without
from stap.train.tables import SKIPPED, collate, draw_phi, tabulate, windows


@pytest.fixture(scope="module")
def people() -> Corpus:
    return prior.people(6, seed=4, usages=(150, 300))


@pytest.fixture(scope="module")
def run(people: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipe") / "run"
    fused.train(people, replace(TINY, fold="1/3"), folder)
    return folder


def test_answers_are_what_came_next(people: Corpus) -> None:
    (log, *_) = people.everybody()
    table = tabulate(log, np.random.default_rng(0), candidates=8)
    seen: set[int] = set()
    for usage, answer in enumerate(table.answer.tolist()):
        seen.add(int(log.app[usage]))
        if usage + 1 == len(log.app):
            assert answer == SKIPPED
        elif int(log.app[usage + 1]) not in seen:
            assert answer == 8
        elif answer != SKIPPED:
            assert table.candidate[usage, answer] == log.app[usage + 1]
        else:
            assert log.app[usage + 1] not in table.candidate[usage]
        assert log.app[usage] not in table.candidate[usage]


@given(st.integers(0, 10_000), st.integers(8, 80))
@settings(max_examples=25, deadline=None)
def test_windows_part_every_usage_once(seed: int, usages: int) -> None:
    tables = [tabulate(log, np.random.default_rng(1)) for log in prior.people(2, seed=8, usages=(60, 90)).everybody()]
    cut = windows(tables, usages, np.random.default_rng(seed), least=1)
    for table in tables:
        own = sorted((low, high) for one, low, high in cut if one is table)
        assert [low for low, _ in own] == [0, *(high for _, high in own[:-1])]
        assert own[-1][1] == len(table)
        assert max(high - low for low, high in own) <= usages


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_phi_gives_a_windows_apps_different_indices(seed: int) -> None:
    (log,) = prior.people(1, seed=8, usages=(60, 90)).everybody()
    table = tabulate(log, np.random.default_rng(1))
    phi = draw_phi(table, 10, 40, 64, np.random.default_rng(seed))
    held = phi[phi >= 0]
    assert len(set(held.tolist())) == len(held) == min(table.apps, 64)
    assert (phi[np.unique(table.app[10:40])] >= 0).all()


def test_padding_and_company_change_nothing(people: Corpus) -> None:
    recipe = replace(TINY, real=False)
    population = Population(people, recipe)
    model = fused.build(recipe, population).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    tables = [tabulate(log, np.random.default_rng(2)) for log in people.everybody()]
    short, long = (tables[0], 5, 15), (tables[1], 0, 32)

    def scores(*chosen: tuple[object, int, int]) -> torch.Tensor:
        moments = collate(chosen, recipe.model.vocabulary, np.random.default_rng(3))  # type: ignore[arg-type]
        with torch.inference_mode():
            return fused.answers(model, moments, recipe).scores

    alone = scores(short)
    together = scores(short, long)
    torch.testing.assert_close(together[: len(alone)], alone, rtol=1e-4, atol=1e-4)


def test_newcomers_have_no_past(people: Corpus) -> None:
    """Their share of the usages is as asked, and their evidence is that of a log which begins there."""
    recipe = replace(TINY, prior_share=0.0, new_share=0.4, augmented=0.0)
    tables = {id(table): table for table, _, _ in Population(people, recipe).windows(0, True)}.values()
    begins = set(people.start[people.offsets[:-1]])
    new = [table for table in tables if table.minutes[0, 0] not in begins]
    assert 0.35 < sum(map(len, new)) / sum(map(len, tables)) < 0.46
    for table in new[:5]:
        assert 40 <= len(table) < 256
        assert table.app[0] == 0
        assert (table.candidate[0] < 0).all()  # the current app is all that is known, and nobody opens it again


def test_a_view_is_of_those_who_train(people: Corpus) -> None:
    """The other logger's records stand in for a person; nobody comes in by them."""
    later = replace(people, start=people.start + 1e6, end=people.end + 1e6)
    recipe = replace(TINY, prior_share=0.0, augmented=0.0, view_share=1.0)
    some, other = people.select(np.array([0, 1])), later.select(np.array([1, 2]))
    first = {
        table.minutes[0, 0] for table, _, _ in Population(some, replace(recipe, new_share=0.0), other).windows(0, True)
    }
    assert first == {people.start[0], later.start[later.offsets[1]]}
    without_ = Population(some, without(replace(recipe, new_share=0.0), "view"), other).windows(0, True)
    assert {table.minutes[0, 0] for table, _, _ in without_} == {some.start[0], some.start[some.offsets[1]]}


def test_interruptions_come_to_changed_logs_only(people: Corpus) -> None:
    recipe = replace(TINY, prior_share=0.0, new_share=0.0, interrupted=1.0, instants=0.0)

    def usages(recipe: Recipe) -> int:
        windows = Population(people, recipe).windows(0, True)
        return sum(map(len, {id(table): table for table, _, _ in windows}.values()))

    assert usages(replace(recipe, augmented=1.0)) > usages(without(replace(recipe, augmented=1.0), "interruptions"))
    assert usages(replace(recipe, augmented=0.0)) == len(people.app)


def test_some_logs_come_without_closes(people: Corpus) -> None:
    recipe = replace(TINY, prior_share=0.0, new_share=0.0, augmented=0.0, instants=1.0)
    tables = [table for number in range(4) for table, _, _ in Population(people, recipe).windows(number, True)]
    assert all((table.minutes[:, 0] == table.minutes[:, 1]).all() for table in tables)
    assert {bool(table.at_open.all()) for table in tables} == {True, False}
    with_closes = Population(people, without(recipe, "instants")).windows(0, True)
    assert all((table.minutes[:, 0] < table.minutes[:, 1]).any() for table, _, _ in with_closes)


def test_a_fresh_model_is_the_blend(people: Corpus, tmp_path: Path) -> None:
    """Before training, the ranking of the known apps is the blend's own."""
    recipe = replace(TINY, real=False)
    model = fused.build(recipe, Population(people, recipe))
    torch.nn.init.zeros_(model.head.weight)
    weights.save(model, tmp_path / "fresh.safetensors")
    engine = EngineModel(tmp_path / "fresh.safetensors").predictor()
    blend = Blend()
    for pair in people.events(0, slice(0, 100)):
        for event in pair:
            blend.observe(event)
            engine.observe(event)
            wanted, found = dict(blend.rank(99)), [app for app, _ in engine.rank(5)]
            assert all(wanted[a] >= wanted[b] - 1e-6 for a, b in pairwise(found))


def test_run_folder(run: Path, people: Corpus) -> None:
    split = json.loads((run / "users.json").read_text())
    assert sorted(split["training"] + split["testing"]) == sorted(people.users)
    assert len(split["testing"]) == 2
    (line,) = [json.loads(text) for text in (run / "log.jsonl").read_text().splitlines()]
    assert line["epoch"] == TINY.steps
    assert weights.read_config(run / "model.safetensors") == TINY.model


def test_a_run_is_never_overwritten(run: Path, people: Corpus) -> None:
    with pytest.raises(BadInput, match="there is a run in it"):
        fused.train(people, replace(TINY, fold="1/3"), run)
    with pytest.raises(BadInput, match="other settings"):
        fused.train(people, TINY, run, resume=True)
    with pytest.raises(BadInput, match="other data"):
        fused.train(people, replace(TINY, fold="1/3"), run, resume=True, view=people)


def test_resumed_is_uninterrupted(run: Path, people: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle, after a checkpoint, and gone on: the same tensors, to the last bit."""
    recipe = replace(TINY, fold="1/3", checkpoint_seconds=0.0)
    monkeypatch.setattr(fused, "LOG_EVERY", 7)
    whole = fused.train(people, recipe, tmp_path / "whole")
    step = fused._step
    calls = 0

    def dies(*arguments: object) -> tuple[float, float]:
        nonlocal calls
        calls += 1
        if calls == 18:
            raise KeyboardInterrupt
        return step(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fused, "_step", dies)
    with pytest.raises(KeyboardInterrupt):
        fused.train(people, recipe, tmp_path / "broken")
    monkeypatch.setattr(fused, "_step", step)
    again = fused.train(people, recipe, tmp_path / "broken", resume=True)
    first, second = load_file(whole), load_file(again)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_resumed_at_the_end_of_the_prior_it_meets_the_same_people(people: Corpus) -> None:
    """A checkpoint may fall on any step; also on the one after which real people come in."""
    recipe = replace(TINY, steps=6, prior_steps=3, windows_per_step=4)
    population = Population(people, recipe)

    def met(progress: Progress, steps: int) -> list[list[tuple[float, int, int]]]:
        found = []
        stream = fused.feed(population, progress, recipe)
        for _ in range(steps):
            chosen, progress.epoch, progress.step = next(stream)
            progress.steps += 1
            found.append([(float(table.minutes[0, 0]), low, high) for table, low, high in chosen])
        return found

    whole = met(Progress(""), 6)
    for stop in range(1, 6):
        progress = Progress("")
        assert met(progress, stop) + met(progress, 6 - stop) == whole, stop


def test_without_shuffle_a_person_keeps_one_phi(people: Corpus) -> None:
    recipe = replace(TINY, prior_share=0.0, new_share=0.0, augmented=0.0, shuffle=False)
    of_app: dict[tuple[int, int], set[int]] = {}
    for round_number in (0, 1):
        for window in Population(people, recipe).windows(round_number, True):
            table, low, high = window
            moments = collate([window], 64, np.random.default_rng(round_number), shuffle=False)
            for code, index in zip(table.app[low:high].tolist(), moments.app[0, ::2].tolist(), strict=True):
                of_app.setdefault((table.person, code), set()).add(index)
    assert {person for person, _ in of_app} == set(range(len(people.users)))
    assert all(len(indices) == 1 for indices in of_app.values())
    first = {next(iter(of_app[person, 0])) for person in range(len(people.users))}
    assert len(first) > 1, "phi differs between people"


def test_what_cannot_be_trained_leaves_no_run(people: Corpus, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read it"):
        fused.train(people, replace(TINY, start=str(tmp_path / "nowhere")), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.toml").write_text("")
    with pytest.raises(BadInput, match="stap train"):
        fused.train(people, TINY, tmp_path / "other")
    brief = prior.people(1, seed=4, usages=(2, 3))
    with pytest.raises(BadInput, match="nothing to learn from"):
        fused.train(brief, without(replace(TINY, prior_steps=0, new_share=0.0), "prior"), tmp_path / "brief")
    assert not (tmp_path / "brief").exists()


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_left_out(part: str, people: Corpus, tmp_path: Path) -> None:
    recipe = without(replace(TINY, steps=3, prior_steps=1, prior_people=3), part)
    path = fused.train(people, recipe, tmp_path / "run")
    predictor = EngineModel(path).predictor()
    for pair in people.events(0, slice(0, 20)):
        for event in pair:
            predictor.observe(event)
    assert len(predictor.rank(3)) == 3


def test_without_the_transformer_its_state_is_not_heard(people: Corpus, tmp_path: Path) -> None:
    path = fused.train(people, without(replace(TINY, steps=3, prior_steps=1), "transformer"), tmp_path / "run")
    model = weights.load(path)
    assert model.evidence is not None
    with torch.no_grad():
        model.norm.weight.mul_(17.0)
    other = tmp_path / "other.safetensors"
    weights.save(model, other)
    one, two = (EngineModel(file, "fp32").predictor(Settings(cache="fp32")) for file in (path, other))
    for pair in people.events(0, slice(0, 30)):
        for event in pair:
            one.observe(event)
            two.observe(event)
    assert one.rank(9) == two.rank(9)


def test_unknown_part_and_impossible_steps_are_refused() -> None:
    with pytest.raises(BadInput, match="no part"):
        without(Recipe(), "luck")
    with pytest.raises(BadInput, match="steps"):
        Recipe(steps=10, prior_steps=20)


def test_folds_hold_everybody_out_once(people: Corpus) -> None:
    held = [hold_out(people, f"{k}/3")[1].users for k in (1, 2, 3)]
    assert sorted(sum(held, ())) == sorted(people.users)
    for k, names in enumerate(held, 1):
        assert not set(names) & set(hold_out(people, f"{k}/3")[0].users)


def test_an_int8_file_is_read_back(run: Path, people: Corpus, tmp_path: Path) -> None:
    small = tmp_path / "small.safetensors"
    export(run, small, "int8")
    predictor, engine = Stap(weights.load(small)), EngineModel(small).predictor(Settings(cache="fp32"))
    for pair in people.events(0, slice(0, 40)):
        for event in pair:
            predictor.observe(event)
            engine.observe(event)
    wanted = dict(predictor.rank(50))
    assert all(abs(wanted[app] - share) < 0.01 for app, share in engine.rank(50))
    again = tmp_path / "again.safetensors"
    export(small, again, "int8")
    first, second = load_file(small), load_file(again)
    for name, tensor in first.items():
        torch.testing.assert_close(
            second[name].float(), tensor.float(), rtol=1e-5, atol=1.0 if tensor.dtype == torch.int8 else 1e-6
        )


def _person(usages: int) -> Corpus:
    return prior.people(1, seed=6, usages=(usages, usages + 1), first=5)


def test_adapting_writes_only_what_helps(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "STEPS", 40)
    out = tmp_path / "my.safetensors"
    person = _person(1200)
    spoilt = weights.load(run / "model.safetensors")
    assert spoilt.evidence is not None
    with torch.no_grad():
        spoilt.evidence.scale[0] = 0.0  # a head that does not hear the blend: easy to better
    weights.save(spoilt, tmp_path / "spoilt.safetensors")
    monkeypatch.setattr(adapt, "RATE", 0.005)
    monkeypatch.setattr(adapt, "PULL", 0.0)
    proof = adapt.adapt(tmp_path / "spoilt.safetensors", person, out, "log")
    assert proof.helps
    assert proof.loss_after < proof.loss_before
    before, after = load_file(tmp_path / "spoilt.safetensors"), load_file(out)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all(name.startswith("evidence.") or name.endswith("norm.weight") for name in moved)
    EngineModel(out)  # the engine reads it

    monkeypatch.setattr(adapt, "RATE", 3.0)  # wild steps: worse, and so not written
    worse = adapt.adapt(run / "model.safetensors", person, tmp_path / "worse.safetensors", "log")
    assert not worse.helps
    assert not (tmp_path / "worse.safetensors").exists()


def test_adapting_needs_a_person_and_a_head(run: Path, tmp_path: Path, people: Corpus) -> None:
    with pytest.raises(BadInput, match="too few"):
        adapt.adapt(run / "model.safetensors", _person(100), tmp_path / "a.safetensors", "log")
    with pytest.raises(BadInput, match="users in it"):
        adapt.adapt(run / "model.safetensors", people, tmp_path / "a.safetensors", "log")
    pure = fused.train(people, without(replace(TINY, steps=1, prior_steps=1), "evidence"), tmp_path / "pure")
    with pytest.raises(BadInput, match="no small parts"):
        adapt.adapt(pure, _person(500), tmp_path / "a.safetensors", "log")


def test_who_always_trains_is_never_held_out(people: Corpus) -> None:
    """The others are dealt out as if these were not there."""
    always = ",".join(people.users[:2])
    others = people.select(np.arange(2, len(people.users)))
    for k in (1, 2):
        training, testing = hold_out(people, f"{k}/2", 0, always)
        assert testing.users == hold_out(others, f"{k}/2")[1].users
        assert set(training.users) | set(testing.users) == set(people.users)
        assert set(people.users[:2]) <= set(training.users)
    with pytest.raises(BadInput, match="no user 'nobody'"):
        hold_out(people, "1/2", 0, "nobody")
