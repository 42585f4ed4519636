"""The pure task: the paper's question of a whole population, and what a teacher adds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file

from stap import prior
from stap.engine import EngineModel
from stap.events import NO_LABEL, Corpus
from stap.metrics import NAMES
from stap.model.config import ModelConfig
from stap.model.score import summed_loss
from stap.train.config import TrainConfig
from stap.train.presets import preset, without
from stap.train.run import train
from stap.train.tasks.base import fresh
from stap.train.tasks.pure import Objective, Pure
from stap.train.tasks.tables import USAGES
from stap.train.teacher import MOST, Teacher
from stap.weights import shipped

_PURE = preset("pure")
TINY = replace(
    _PURE,
    model=replace(_PURE.model, vocabulary=64, context=128, dim=32, layers=2, hidden=32),
    population=replace(_PURE.population, steps=12, prior_people=4, stay=2),
    curriculum=((64, 1),),
    tokens_per_batch=512,
    tokens_at_once=512,
    warmup_steps=2,
)


@pytest.fixture(scope="module")
def people() -> Corpus:
    return prior.people(6, seed=4, usages=(100, 200))


@pytest.fixture(scope="module")
def taught() -> TrainConfig:
    return replace(TINY, teacher=str(shipped()))


def test_the_preset_is_the_paper_with_every_switch() -> None:
    """What ships at inference is a transformer of events alone; in `paper` all of it is off."""
    paper, model = preset("paper"), _PURE.model
    assert (model.evidence, model.launches) == (0, 0)
    assert model.context >= 2048
    for switch in ("query_key_norm", "ordinal_heads", "tied_apps", "mixed_keys", "pointing_heads"):
        assert getattr(model, switch)
        assert not getattr(paper.model, switch)
        assert getattr(without(_PURE, switch).model, switch) == getattr(ModelConfig(), switch)
    for switch in ("zero_outputs", "among_seen", "muon", "curriculum"):
        assert getattr(_PURE, switch)
        assert not getattr(paper, switch)
        assert not getattr(without(_PURE, switch), switch)
    assert not paper.teacher


@pytest.mark.parametrize("pointing", [0, 6])
def test_a_fresh_model_copies(people: Corpus, pointing: int) -> None:
    """Before any step it ranks what came before above what never came, and the current app, never next, last of all."""
    settings = replace(TINY, model=replace(_PURE.model, context=256, pointing_heads=pointing))
    made, model = Pure(people, settings).epoch(1, 0), fresh(settings)
    app, *others, _, _, _ = made.tensors(made.batch(0))
    with torch.inference_mode():
        logits = model(app, *others)[:, 100]
    for scores, history in zip(logits, app[:, :101], strict=True):
        came = torch.zeros(len(scores), dtype=torch.bool)
        came[history] = True
        came[history[-1]] = False
        never = ~came
        never[history[-1]] = False
        assert scores[came].mean() > scores[never].mean() + 0.1
        assert scores[history[-1]] == scores.min()


def test_a_teacher_says_what_the_engine_says_after_each_close(people: Corpus) -> None:
    usages = people.usages(0).take(slice(0, 40))
    said = Teacher(shipped())(usages, np.random.default_rng(0), USAGES)
    predictor = EngineModel(shipped()).predictor()
    for row, pair in enumerate(people.select(np.array([0])).first(40).events(0)):
        for event in pair:
            predictor.observe(event)
        ranking = predictor.rank(MOST)
        whole = sum(share for _, share in ranking)
        assert [people.apps[0].index(app) for app, _ in ranking] == said.app[row][said.app[row] >= 0].tolist()
        assert said.share[row][: len(ranking)] == pytest.approx([share / whole for _, share in ranking], abs=1e-6)
        assert said.share[row].sum() == pytest.approx(1.0 if ranking else 0.0, abs=1e-5)


def test_the_loss_is_of_labels_and_of_the_teacher(people: Corpus, taught: TrainConfig) -> None:
    """Worked out one event at a time, over all of V."""
    taught = replace(taught, among_seen=False)
    made = Pure(people, taught).epoch(0, 0)
    which = made.batch(0)[:2]
    model = fresh(taught)
    *inputs, label, said, share = made.tensors(which)
    with torch.inference_mode():
        chance = F.log_softmax(model(*inputs), dim=-1)
        loss, own = Objective(model, taught)(*inputs, label, said, share).tolist()
    wanted = labels = 0.0
    for b, n in np.argwhere(label.numpy() != NO_LABEL).tolist():
        hard = -float(chance[b, n, label[b, n]])
        apps, shares = said[b, n // 2], share[b, n // 2]
        soft = -sum(float(s) * float(chance[b, n, a]) for a, s in zip(apps, shares, strict=True) if a >= 0)
        taught_share = 0.7 * float(shares.sum())
        wanted += 0.7 * soft + (1 - taught_share) * hard
        labels += hard
    assert loss == pytest.approx(wanted, rel=1e-4)
    assert own == pytest.approx(labels, rel=1e-4)
    assert made.labels(which) == int((label != NO_LABEL).sum())


def test_among_apps_seen_so_far_nothing_else_counts(people: Corpus, taught: TrainConfig) -> None:
    """Worked out one event at a time: others weigh nothing, and an app's first opening is nobody's fault."""
    made = Pure(people, taught).epoch(0, 0)
    model = fresh(taught)
    *inputs, label, said, share = made.tensors(made.batch(0)[:2])
    with torch.inference_mode():
        logits = model(*inputs)
        loss, own = Objective(model, taught)(*inputs, label, said, share).tolist()
    wanted = labels = 0.0
    for b, n in np.argwhere(label.numpy() != NO_LABEL).tolist():
        known = sorted(set(inputs[0][b, : n + 1].tolist()))
        if int(label[b, n]) not in known:
            continue
        chance = dict(zip(known, F.log_softmax(logits[b, n, known], dim=-1).tolist(), strict=True))
        told = zip(said[b, n // 2].tolist(), share[b, n // 2].tolist(), strict=True)
        answer = {app: part for app, part in told if app in chance}
        hard = -chance[int(label[b, n])]
        wanted += (1 - 0.7 * sum(answer.values())) * hard - 0.7 * sum(part * chance[a] for a, part in answer.items())
        labels += hard
    assert loss == pytest.approx(wanted, rel=1e-4)
    assert own == pytest.approx(labels, rel=1e-4)


def test_without_a_teacher_it_is_the_paper_s_loss(people: Corpus) -> None:
    settings = replace(TINY, among_seen=False)
    made, model = Pure(people, settings).epoch(0, 0), fresh(settings)
    *inputs, label, said, share = made.tensors(made.batch(0))
    loss, own = Objective(model, settings)(*inputs, label, said, share).tolist()
    assert loss == own == pytest.approx(summed_loss(model(*inputs), label).item())


def test_the_same_people_stay_for_some_rounds_under_other_phis(people: Corpus) -> None:
    task = Pure(people, TINY)
    first, second, third = (task.epoch(number, 0) for number in range(3))
    assert np.array_equal(first.corpus.app, second.corpus.app)
    assert not np.array_equal(second.corpus.app, third.corpus.app)
    assert first.windows.context == 64
    assert second.windows.context == 128


def test_a_run_is_watched_resumed_and_ships(people: Corpus, tmp_path: Path) -> None:
    """Held-out people draw the curve and choose nothing; the engine reads the result; kills change no bit."""
    settings = replace(TINY, fold="1/3")
    train(people, settings, tmp_path / "whole", "log")
    lines = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert set(NAMES) < set(lines[-1]["validation"])
    assert lines[-1]["steps"] == 12
    model = EngineModel(tmp_path / "whole" / "model.safetensors")
    assert (model.context, model.evidence) == (128, 0)

    class Killed(Exception):  # noqa: N818
        pass

    def dies(*_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stap.train.run._draw", dies)  # after the first epoch's checkpoint
        with pytest.raises(Killed):
            train(people, settings, tmp_path / "killed", "log")
    train(people, settings, tmp_path / "killed", "log", "resume")
    whole, killed = (load_file(tmp_path / run / "model.safetensors") for run in ("whole", "killed"))
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
