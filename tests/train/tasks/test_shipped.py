"""The shipped task: tables, windows, phi, who comes up, its run folder; adapting to one person."""

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
from stap.events import Corpus, Usages
from stap.evidence import MOMENT
from stap.model import weights
from stap.model.export import export
from stap.predictors.blend import Blend
from stap.reference.session import Stap
from stap.train import adapt
from stap.train.config import Mix, TrainConfig
from stap.train.people import hold_out
from stap.train.presets import WITHOUT, preset, without
from stap.train.run import train
from stap.train.step import Trainer
from stap.train.tasks.base import Epoch
from stap.train.tasks.population import Member, Population
from stap.train.tasks.shipped import EvidenceRound, Objective, Shipped
from stap.train.tasks.tables import LAUNCHES, SKIPPED, Asking, Table, join, tabulate
from stap.windows import cut
from train.made import SHIPPED as TINY

OTHERS = (
    "curriculum",
    "clipping",
    "tied_apps",
    "mixed_keys",
    "pointing_heads",
    "zero_outputs",
    "among_seen",
    "teacher",
)  # other tasks' parts
PARTS = [part for part in WITHOUT if part not in OTHERS]


def mixed(settings: TrainConfig = TINY, **mix: object) -> TrainConfig:
    return replace(settings, population=replace(settings.population, **mix))  # type: ignore[arg-type]


def members(people: Corpus, settings: TrainConfig, number: int = 0, view: Corpus | None = None) -> list[Member[Table]]:
    return Population(people, settings, tabulate, view).round(number, True, np.random.default_rng(number))


def round_of(people: Corpus, settings: TrainConfig, number: int = 0) -> EvidenceRound:
    rng = np.random.default_rng(number)
    members = Population(people, settings, tabulate).round(number, True, rng)
    return EvidenceRound.of(settings, number, members, join, rng, 10**6)


def run_model(people: Corpus, settings: TrainConfig, folder: Path) -> Path:
    train(people, settings, folder, "log")
    return folder / "model.safetensors"


@pytest.fixture(scope="module")
def people() -> Corpus:
    return prior.people(6, seed=4, usages=(150, 300))


@pytest.fixture(scope="module")
def run(people: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped") / "run"
    train(people, replace(TINY, fold="1/3"), folder, "log")
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


def test_of_a_launch_the_same_app_may_be_the_answer() -> None:
    """a, a after an hour, b, a: asked at launches the current app is a candidate, asked for another one it is not."""
    start = np.array([0.0, 60.0, 61.5, 63.0, 200.0])
    usages = Usages(np.array([0, 0, 1, 0, 0], np.int32), start, start + 1.0)
    at_launch = tabulate(usages, np.random.default_rng(0), Asking(0.0, launch=1.0), candidates=4)
    assert at_launch.candidate[0, 0] == 0
    assert [at_launch.candidate[i, at_launch.answer[i]] for i in (0, 2, 3)] == [0, 0, 0]
    assert at_launch.answer.tolist()[1] == 4, "b was never seen before"
    other = tabulate(usages, np.random.default_rng(0), Asking(0.0), candidates=4)
    assert other.answer.tolist() == [SKIPPED, 4, 0, SKIPPED, SKIPPED]


def test_who_trains_a_launch_head_meets_launches_and_everybody_else_merged_usages(people: Corpus) -> None:
    gone = replace(people, app=np.where(people.app == 1, 0, people.app).astype(np.int32))
    everybody = Corpus.of((user, names, usages.renumbered()) for user, names, usages in gone.people())
    wanted = mixed(prior_share=0.0, new_share=0.0, augmented=0.0, instants=0.0)
    asked = MOMENT.index("asked")
    for width in (8, 0):
        for member in members(everybody, replace(wanted, model=replace(wanted.model, launches=width))):
            assert (member.table.asked[:, asked] == bool(width)).all()
            assert bool((member.usages.app[1:] == member.usages.app[:-1]).any()) is bool(width)


def test_launches_are_asked_about_at_their_moment_before_it_and_whenever() -> None:
    """A launch every ten minutes, each one minute long: nine minutes' pause, asked about in time."""
    start = np.linspace(0.0, 39_990.0, 4000)
    usages = Usages(np.arange(4000, dtype=np.int32) % 2, start, start + 1.0)
    table = tabulate(usages, np.random.default_rng(0), LAUNCHES, candidates=2)
    launching, pause = (table.asked[:-1, MOMENT.index(name)] for name in ("launching", "pause"))
    minutes = np.exp(pause) - 0.1
    at_launch = (launching == 1) & (np.abs(minutes - 9.0) < 1e-3)
    before = (launching == 1) & (minutes < 8.999)
    shares = [float(kind.mean()) for kind in (table.opened[:-1], at_launch, before)]
    assert shares == pytest.approx(LAUNCHES, abs=0.03)
    assert (minutes[before] >= 0).all()
    assert (launching[table.opened[:-1]] == 0).all(), "at the open nobody knows when"


@given(st.integers(0, 10_000), st.integers(4, 40))
@settings(max_examples=25, deadline=None)
def test_windows_part_every_usage_once(seed: int, half: int) -> None:
    corpus = prior.people(2, seed=8, usages=(60, 90))
    windows = cut(corpus, 2 * half, np.random.default_rng(seed).integers(1, half + 1, 2))
    for user in range(2):
        own = np.flatnonzero(windows.user == user)
        low, high = windows.first[own], windows.first[own] + windows.usages[own]
        assert low.tolist() == [corpus.offsets[user], *high[:-1]]
        assert high[-1] == corpus.offsets[user + 1]
        assert windows.usages[own].max() <= half


@given(st.integers(0, 10_000), st.sampled_from([8, 12, 64]))
@settings(max_examples=25, deadline=None)
def test_phi_gives_a_windows_apps_different_indices(seed: int, vocabulary: int) -> None:
    """Also where a person has more apps than there are indices: then others have none."""
    people = prior.people(2, seed=8, usages=(60, 90))
    small = replace(TINY.model, vocabulary=vocabulary, context=16)
    made = round_of(people, mixed(replace(TINY, model=small, seed=seed), augmented=0.0, prior_share=0.0))
    which = made.order[:4]
    row, here = made.windows.rows(which)
    for phi, window, rows, inside in zip(made.phi(made.windows, which), which, row, here, strict=True):
        own = phi[np.unique(made.corpus.app[rows[inside]])]
        assert len(set(own.tolist())) == len(own)
        assert (own >= 0).all()
        apps = int(made.corpus.app_counts[made.windows.user[window]])
        assert (phi[:apps] >= 0).sum() == min(apps, vocabulary)


def test_padding_and_company_change_nothing(people: Corpus) -> None:
    task = Shipped(people, mixed(augmented=0.0, prior_share=0.0))
    model = task.build().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    made = round_of(people, task.settings)
    short, long = int(made.windows.usages.argmin()), int(made.windows.usages.argmax())

    def scores(*which: int) -> torch.Tensor:
        with torch.inference_mode():
            return Objective(model).scores(*made.tensors(np.array(which)))[0]

    alone = scores(short)
    assert len(alone) < 32
    torch.testing.assert_close(scores(short, long)[: len(alone)], alone, rtol=1e-4, atol=1e-4)


def test_labels_are_counted_as_the_objective_sums_them(people: Corpus) -> None:
    for wanted in (mixed(), without(TINY, "evidence")):
        made = round_of(people, wanted)
        which = made.batch(0)
        scores, _, answer = Objective(Shipped(people, wanted).build()).scores(*made.tensors(which))
        assert made.labels(which) == int((answer < scores.shape[1]).sum())


def test_newcomers_have_no_past(people: Corpus) -> None:
    """Their share of the usages is as asked, and their evidence is that of a log which begins there."""
    everybody = members(people, mixed(prior_share=0.0, new_share=0.4, augmented=0.0))
    new = everybody[len(people.users) :]
    assert 0.35 < sum(len(m.table) for m in new) / sum(len(m.table) for m in everybody) < 0.46
    for member in new[:5]:
        assert 40 <= len(member.table) < 256
        assert member.usages.app[0] == 0
        assert (member.table.candidate[0] <= 0).all()  # the current app is all that is known


def test_a_view_is_of_those_who_train(people: Corpus) -> None:
    """The other logger's records stand in for a person; nobody comes in by them."""
    later = replace(people, start=people.start + 1e6, end=people.end + 1e6)
    wanted = mixed(prior_share=0.0, augmented=0.0, view_share=1.0, new_share=0.0)
    some, other = people.select(np.array([0, 1])), later.select(np.array([1, 2]))
    assert {member.usages.start[0] for member in members(some, wanted, view=other)} == {
        people.start[0],
        later.start[later.offsets[1]],
    }
    plain = members(some, without(wanted, "view"), view=other)
    assert {member.usages.start[0] for member in plain} == {some.start[0], some.start[some.offsets[1]]}


def test_interruptions_come_to_changed_logs_only(people: Corpus) -> None:
    wanted = mixed(prior_share=0.0, new_share=0.0, interrupted=1.0, instants=0.0, augmented=1.0)

    def usages(settings: TrainConfig) -> int:
        return sum(len(member.table) for member in members(people, settings))

    assert usages(wanted) > usages(without(wanted, "interruptions"))
    assert usages(mixed(wanted, augmented=0.0)) == len(people.app)


def test_some_logs_come_without_closes(people: Corpus) -> None:
    wanted = mixed(prior_share=0.0, new_share=0.0, augmented=0.0, instants=1.0)
    everybody = [member for number in range(4) for member in members(people, wanted, number)]
    assert all((member.usages.start == member.usages.end).all() for member in everybody)
    assert {bool(member.table.opened.all()) for member in everybody} == {True, False}
    with_closes = members(people, without(wanted, "instants"))
    assert all((member.usages.start < member.usages.end).any() for member in with_closes)


def test_a_fresh_model_is_the_blend(people: Corpus, tmp_path: Path) -> None:
    """Before training, the ranking of the known apps is the blend's own."""
    model = Shipped(people, mixed(real=False)).build()
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
    *_, last = [json.loads(text) for text in (run / "log.jsonl").read_text().splitlines()]
    assert last["steps"] == TINY.population.steps
    assert last["blend"] > 0
    assert weights.read_config(run / "model.safetensors") == TINY.model
    assert (run / "figures" / "curve.png").read_bytes()[1:4] == b"PNG"


def test_a_run_is_never_overwritten(run: Path, people: Corpus) -> None:
    with pytest.raises(BadInput, match="there is a run in it"):
        train(people, replace(TINY, fold="1/3"), run, "log")
    with pytest.raises(BadInput, match="its run has fold = '1/3', not ''"):
        train(people, TINY, run, "log", "resume")
    with pytest.raises(BadInput, match="other data"):
        train(people, replace(TINY, fold="1/3"), run, "log", "resume", view=people)


def test_resumed_is_uninterrupted(run: Path, people: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle, after a checkpoint, and gone on: the same tensors, to the last bit."""
    settings, step, calls = replace(TINY, fold="1/3", checkpoint_seconds=0.0), Trainer.step, 0

    def dies(self: Trainer, epoch: Epoch, number: int, done: int) -> tuple[dict[str, float], int, int]:
        nonlocal calls
        calls += 1
        if calls == 18:
            raise KeyboardInterrupt
        return step(self, epoch, number, done)

    monkeypatch.setattr(Trainer, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        train(people, settings, tmp_path / "broken", "log")
    monkeypatch.setattr(Trainer, "step", step)
    train(people, settings, tmp_path / "broken", "log", "resume")
    first, second = (load_file(folder / "model.safetensors") for folder in (run, tmp_path / "broken"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_real_people_come_in_when_the_prior_is_done(people: Corpus) -> None:
    """A round on the prior alone is cut short there, also when a run was resumed in it."""
    task = Shipped(people, mixed(steps=9, prior_steps=3))
    first, second = task.epoch(0, 0), task.epoch(1, 3)
    assert len(first) == 3
    assert len(second) == 6
    assert first.person.min() >= len(people.users)
    assert second.person.min() == 0
    again = task.epoch(0, 0)
    assert again.order.tolist() == first.order.tolist()


def test_without_shuffle_a_person_keeps_one_phi(people: Corpus) -> None:
    wanted = without(mixed(prior_share=0.0, new_share=0.0, augmented=0.0), "shuffle")
    of_app: dict[tuple[int, int], set[int]] = {}
    for number in (0, 1):
        made = round_of(people, wanted, number)
        for window in made.order:
            (app, *_), (row, here) = made.tensors(np.array([window])), made.windows.rows(np.array([window]))
            codes, person = made.corpus.app[row[here]], int(made.person[made.windows.user[window]])
            for code, index in zip(codes.tolist(), app[0, ::2].tolist(), strict=False):
                of_app.setdefault((person, code), set()).add(index)
    assert {person for person, _ in of_app} == set(range(len(people.users)))
    assert all(len(indices) == 1 for indices in of_app.values())
    first = {next(iter(of_app[person, 0])) for person in range(len(people.users))}
    assert len(first) > 1, "phi differs between people"


def test_what_cannot_be_trained_leaves_no_run(people: Corpus, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read it"):
        train(people, replace(TINY, start=str(tmp_path / "nowhere")), tmp_path / "run", "log")
    assert not (tmp_path / "run").exists()
    brief = prior.people(1, seed=4, usages=(2, 3))
    with pytest.raises(BadInput, match="nothing to learn from"):
        train(brief, mixed(prior_steps=0, prior_share=0.0, new_share=0.0), tmp_path / "brief", "log")
    assert not (tmp_path / "brief").exists()


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_left_out(part: str, people: Corpus, tmp_path: Path) -> None:
    path = run_model(people, without(mixed(steps=3, prior_steps=1, prior_people=3), part), tmp_path / "run")
    predictor = EngineModel(path).predictor()
    for pair in people.events(0, slice(0, 20)):
        for event in pair:
            predictor.observe(event)
    assert len(predictor.rank(3)) == 3


def test_without_the_transformer_its_state_is_not_heard(people: Corpus, tmp_path: Path) -> None:
    path = run_model(people, without(mixed(steps=3, prior_steps=1), "transformer"), tmp_path / "run")
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
    with pytest.raises(BadInput, match="no part 'luck'"):
        without(TINY, "luck")
    with pytest.raises(BadInput, match=r"no part 'prior'.*choose one of shuffle, context$"):
        without(preset("paper"), "prior")
    with pytest.raises(BadInput, match="steps"):
        Mix(steps=10, prior_steps=20)


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
    pure = run_model(people, without(mixed(steps=1, prior_steps=1), "evidence"), tmp_path / "pure")
    with pytest.raises(BadInput, match="no small parts"):
        adapt.adapt(pure, _person(500), tmp_path / "a.safetensors", "log")


def test_who_always_trains_is_never_held_out(people: Corpus) -> None:
    """The others are dealt out as if these were not there."""
    always = people.users[:2]
    others = people.select(np.arange(2, len(people.users)))
    for k in (1, 2):
        training, testing = hold_out(people, f"{k}/2", 0, always)
        assert testing.users == hold_out(others, f"{k}/2")[1].users
        assert set(training.users) | set(testing.users) == set(people.users)
        assert set(people.users[:2]) <= set(training.users)
    with pytest.raises(BadInput, match="no user 'nobody'"):
        hold_out(people, "1/2", 0, ["nobody"])


@pytest.mark.slow
def test_a_launch_head_is_added_to_a_trained_model_and_nothing_else_moves(people: Corpus, run: Path) -> None:
    start = run / "model.safetensors"
    wanted = replace(TINY, model=replace(TINY.model, launches=8), start=str(start))
    with pytest.raises(BadInput, match="added to a trained model"):
        train(people, replace(wanted, start=""), run.parent / "nothing", "log")
    path = run_model(people, wanted, run.parent / "launch")
    before, after = weights.load(start).state_dict(), weights.load(path).state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert after["launch.out.weight"].abs().max() > 0
    again = run_model(people, replace(wanted, start=str(path)), run.parent / "again")
    assert all(torch.equal(tensor, after[name]) for name, tensor in weights.load(again).state_dict().items()), "anew"
