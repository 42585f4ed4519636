"""The loop: it learns, it stops, it keeps the best, it goes on after a stop, and gradients do not depend on pieces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from stap.errors import BadInput
from stap.events import from_table
from stap.model import weights
from stap.train import checkpoint, journal
from stap.train.config import TrainConfig
from stap.train.parallel import World
from stap.train.people import split
from stap.train.presets import preset
from stap.train.run import open_run, train
from stap.train.step import Trainer, learning_rate
from stap.train.tasks.base import Epoch
from stap.train.tasks.paper import validate

from .made import corpus, table

TINY = replace(preset("tiny"), epochs=3)
PEOPLE = corpus()
ALONE = World(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "a"
    train(PEOPLE, TINY, folder, "log")
    return folder


def losses(folder: Path) -> list[tuple[float, float]]:
    return [(line["loss"], line["validation"]["loss"]) for line in journal.read(folder / "log.jsonl")]


def test_a_run_is_a_folder(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {"config.toml", "users.json", "log.jsonl", "best.safetensors", "last.safetensors", "figures"}
    assert (finished / "figures" / "curve.png").read_bytes()[1:4] == b"PNG"
    lines = journal.read(finished / "log.jsonl")
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert [line["context"] for line in lines] == [32, 32, 64]


def test_who_is_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixed = from_table(pl.concat([table(), table(1, 200, 40).with_columns(user=pl.lit("z"))]))
    train(mixed, replace(TINY, epochs=1), tmp_path / "run", "log")
    assert "users: 6 for training, 2 for validation; 1 left out, with more than 32" in capsys.readouterr().err


def test_it_learns_by_heart_without_shuffling(tmp_path: Path) -> None:
    """And a fixed phi says nothing about other people: training loss falls, validation loss does not."""
    settings = replace(TINY, shuffle=False, epochs=25, curriculum=(), warmup_steps=0)
    train(PEOPLE, settings, tmp_path / "run", "log")
    last = journal.read(tmp_path / "run" / "log.jsonl")[-1]
    assert last["loss"] < 1.5
    assert last["validation"]["loss"] > 3  # chance is ln 32 = 3.47


@pytest.mark.slow
def test_shuffled_it_learns_what_carries_over_to_other_people(tmp_path: Path) -> None:
    """The tiny preset leaves the plateau: people it never saw, apps it never saw, far better than chance."""
    train(corpus(users=40, usages=150), replace(TINY, epochs=40), tmp_path / "run", "log")
    first, *_, last = journal.read(tmp_path / "run" / "log.jsonl")
    assert first["loss"] > 3.3
    assert last["loss"] < 2
    assert last["validation"]["HR@1"] > 50  # a circle of 6 apps: chance is 17


def test_the_best_is_the_one_with_the_lowest_validation_loss(finished: Path) -> None:
    found = validate(weights.load(finished / "best.safetensors"), split(PEOPLE, TINY, "").validation, 0, ALONE)
    assert found["loss"] == pytest.approx(min(loss for _, loss in losses(finished)), abs=1e-6)


def test_a_folder_with_a_run_is_not_overwritten(finished: Path) -> None:
    with pytest.raises(BadInput, match="--resume"):
        train(PEOPLE, TINY, finished, "log")


def test_a_stopped_run_goes_on_exactly(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped inside the second epoch; the losses and the weights are those of the run that never stopped."""
    original, steps = Trainer.step, [0]

    def interrupted(self: Trainer, epoch: Epoch, number: int, done: int) -> tuple[dict[str, float], int, int]:
        steps[0] += 1
        if steps[0] == 3:
            raise KeyboardInterrupt
        return original(self, epoch, number, done)

    monkeypatch.setattr(Trainer, "step", interrupted)
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(PEOPLE, replace(TINY, checkpoint_seconds=0.0), folder, "log")
    with open(folder / "log.jsonl", "a") as file:
        file.write('{"epoch": 9, "torn off')
    train(PEOPLE, TINY, folder, "log", "resume")
    assert losses(folder) == losses(finished)
    one, two = weights.load(folder / "best.safetensors"), weights.load(finished / "best.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_resuming_on_other_data_is_refused(finished: Path) -> None:
    with pytest.raises(BadInput, match="other data"):
        train(corpus(seed=1), TINY, finished, "log", "resume")


def test_resuming_where_no_run_is_says_so(tmp_path: Path) -> None:
    """A mistyped folder is not a reason to start anew; a cluster that does not know says so."""
    with pytest.raises(BadInput, match=r"no run in it to resume.*--start-or-resume"):
        train(PEOPLE, TINY, tmp_path / "mistyped", "log", "resume")
    assert not (tmp_path / "mistyped").exists()
    once = replace(TINY, epochs=1)
    assert train(PEOPLE, once, tmp_path / "new", "log", "either").epoch == 1
    assert train(PEOPLE, once, tmp_path / "new", "log", "either").epoch == 1


def test_other_settings_are_refused_when_a_run_goes_on(finished: Path) -> None:
    with pytest.raises(BadInput, match=r"its run has learning_rate = 0\.003, not 0\.5"):
        train(PEOPLE, replace(TINY, learning_rate=0.5), finished, "log", "resume")


def test_a_model_file_is_no_checkpoint(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(PEOPLE, replace(TINY, epochs=1), folder, "log")
    (folder / "last.safetensors").write_bytes((finished / "best.safetensors").read_bytes())
    with pytest.raises(BadInput, match="not a checkpoint"):
        train(PEOPLE, replace(TINY, epochs=1), folder, "log", "resume")


def test_patience_ends_a_run(tmp_path: Path) -> None:
    done = train(PEOPLE, replace(TINY, epochs=50, patience=2, learning_rate=1e-12), tmp_path / "run", "log")
    assert done.epoch < 50
    assert done.epoch - done.best_epoch == 2


def test_patience_counts_where_it_validates(tmp_path: Path) -> None:
    settings = replace(TINY, epochs=50, patience=3, validate_every=5, learning_rate=1e-12)
    done = train(PEOPLE, settings, tmp_path / "run", "log")
    assert done.epoch % 5 == 0
    assert done.best_epoch < done.epoch < 50


def test_a_loss_that_is_not_a_number_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a number; give a smaller learning_rate"):
        train(PEOPLE, replace(TINY, learning_rate=1e38, clip=0.0, tokens_per_batch=64), tmp_path / "run", "log")


def test_torchrun_goes_on_with_its_own_run_only(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart a run is continued without --resume, but not one that was there before."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    train(PEOPLE, replace(TINY, epochs=1), tmp_path / "own", "log")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert train(PEOPLE, replace(TINY, epochs=1), tmp_path / "own", "log").epoch == 1
    with pytest.raises(BadInput, match="there is a run in it"):
        train(PEOPLE, TINY, finished, "log")


def after_a_step(settings: TrainConfig, folder: Path) -> tuple[float, dict[str, torch.Tensor]]:
    """The loss of one step, and the weights after it."""
    run = open_run(PEOPLE, settings, folder, "log", "new", ALONE)
    sums, labels, _ = run.trainer.step(run.task.epoch(0, 0), 0, 0)
    return sums["loss"] / labels, dict(run.trainer.model.state_dict())


def test_gradients_do_not_depend_on_the_pieces(tmp_path: Path) -> None:
    """Accumulated over pieces of different lengths, the step is that of the whole batch, by labels, not by pieces.

    In fp32 on every processor: sums in bf16 differ by their order.
    """
    exact = replace(TINY, precision="fp32")
    whole_loss, whole = after_a_step(replace(exact, tokens_at_once=4096), tmp_path / "a")
    piece_loss, small = after_a_step(replace(exact, tokens_at_once=64), tmp_path / "b")
    assert whole_loss == pytest.approx(piece_loss, abs=1e-6)
    for name, tensor in whole.items():
        torch.testing.assert_close(tensor, small[name], atol=2e-5, rtol=0)


def test_learning_rates() -> None:
    settings = replace(TINY, learning_rate=1.0, warmup_steps=4, decay="cosine after warm-up")
    assert [learning_rate(settings, step, 104) for step in (0, 1, 3)] == [0.25, 0.5, 1.0]
    assert learning_rate(settings, 54, 104) == pytest.approx(0.55)
    assert learning_rate(settings, 104, 104) == pytest.approx(0.1)
    assert learning_rate(replace(settings, decay="none"), 104, 104) == 1.0
    whole = replace(settings, decay="cosine", decay_to=0.03)
    assert learning_rate(whole, 0, 100) == pytest.approx(0.25)
    assert learning_rate(whole, 50, 100) == pytest.approx(0.515)
    assert learning_rate(replace(whole, start="m.safetensors"), 50, 100) == pytest.approx(0.2575)


def test_bf16_trains(tmp_path: Path) -> None:
    done = train(PEOPLE, replace(TINY, epochs=1, precision="bf16"), tmp_path / "run", "log")
    fp32 = train(PEOPLE, replace(TINY, epochs=1, precision="fp32"), tmp_path / "fp32", "log")
    assert done.best_loss == pytest.approx(fp32.best_loss, abs=0.05)
    assert done.best_loss != fp32.best_loss


def test_a_checkpoint_gives_back_the_optimiser(finished: Path) -> None:
    header = weights.read_header(finished / "last.safetensors")
    assert sum(name.startswith(checkpoint.MEMORY["AdamW"]) for name in header.tensors) == 2 * len(TINY.model.tensors())
    run = open_run(PEOPLE, TINY, finished, "log", "resume", ALONE)
    (optimiser,), parameters = run.trainer.moving, list(run.trainer.model.parameters())
    sizes = [float(optimiser.state[p]["exp_avg_sq"].sum()) for p in parameters]
    assert np.all(np.array(sizes) > 0)
    assert {float(optimiser.state[p]["step"]) for p in parameters} == {float(run.progress.steps)}


def test_a_refused_resume_leaves_everything_as_it_was(tmp_path: Path) -> None:
    folder, once = tmp_path / "run", replace(TINY, epochs=1)
    train(PEOPLE, once, folder, "log")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(BadInput, match="other data"):
        train(corpus(seed=1), once, folder, "log", "resume")
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_run_goes_on_from_another_ones_model(finished: Path, tmp_path: Path) -> None:
    start = replace(TINY, epochs=1, start=str(finished / "best.safetensors"), learning_rate=1e-9)
    train(PEOPLE, start, tmp_path / "more", "log")
    wanted = journal.read(finished / "log.jsonl")[-1]["validation"]["loss"]
    assert journal.read(tmp_path / "more" / "log.jsonl")[0]["validation"]["loss"] == pytest.approx(wanted, abs=0.05)
    with pytest.raises(BadInput, match="cannot read it"):
        train(PEOPLE, replace(start, start="nowhere.safetensors"), tmp_path / "none", "log")


def test_the_papers_task_has_one_view(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--view"):
        train(PEOPLE, TINY, tmp_path / "run", "log", view=PEOPLE)
