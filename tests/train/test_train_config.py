"""Presets and config.toml."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stap.errors import BadInput
from stap.model.config import ModelConfig
from stap.train import config
from stap.train.config import TrainConfig
from stap.train.presets import PRESETS, choose, preset, settle


def test_the_paper_preset_is_the_papers_table() -> None:
    paper = preset("paper")
    model = paper.model
    assert (model.dim, model.heads, model.layers, model.hidden, model.time_base) == (256, 4, 8, 512, 1e5)
    assert (model.vocabulary, model.context, paper.learning_rate, paper.epochs) == (200, 4096, 3e-4, 1200)
    assert [model.query_key_norm, model.ordinal_heads] == [False, 0]
    assert all(preset.model.evidence == 0 for preset in PRESETS.values() if preset.task == "paper")
    assert (paper.curriculum, paper.warmup_steps, paper.clip) == ((), 0, 0.0)
    assert (paper.decay, paper.shuffle, paper.split) == ("none", True, (8, 2))


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    original = replace(preset(name), fold="2/5", seed=3)
    config.write(original, tmp_path / "config.toml")
    assert config.read(tmp_path / "config.toml") == original


def test_a_file_changes_only_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("learning_rate = 1\ncurriculum = [[64, 3]]\n[model]\nlayers = 3\n")
    found = choose("small", tmp_path / "c.toml", None, {"seed": 7, "fold": "1/5", "epochs": None})
    small = preset("small")
    model = replace(small.model, layers=3)
    expected = {"learning_rate": 1.0, "curriculum": ((64, 3),), "seed": 7, "fold": "1/5", "split": (7, 1)}
    assert found == replace(small, model=model, **expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("learnin_rate = 1", "unknown setting 'learnin_rate'"),
        ("learning_rate = 'fast'", "learning_rate is 'fast'"),
        ("learning_rate = -1.0", "above 0"),
        ("learning_rate = nan", "above 0"),
        ("clip = -1.0", "clip must be 0 or more"),
        ("weight_decay = -0.1", "weight_decay"),
        ("seed = -1", "seed"),
        ("split = [8]", "split is \\[8\\]"),
        ("split = [8, 0]", "training, validation"),
        ("split = [[8], 2]", "split"),
        ("[model]\nevidence = 16", "shipped task"),
        ('teacher = "model.safetensors"', "a teacher is the pure task's, not the paper task's"),
        ("average = 0.9", "shipped and the pure task"),
        ("[population]\nstep = 3", "unknown setting 'step'"),
        ("[population]\nprior_share = 1.0", "prior_share"),
        ("fold = '1/5'\nsplit = [7, 1, 2]", "held out already"),
        ("task = 'dance'", "task"),
        ("[population]\nprior_people = 0", "prior_people"),
        ("[population]\nview_share = 7.0", "view_share"),
        ("seed = 99999999999999999999", "seed must be below"),
        ("curriculum = [[3, 4, 5]]", "curriculum phase"),
        ("[model]\nheads = 0", "heads is 0.*mend that setting"),
        ("epochs = 1.5", "epochs is 1.5"),
        ("curriculum = [[63, 1]]", "even context"),
        ("curriculum = [7]", "setting"),
        ("curriculum = 7", "curriculum is 7"),
        ("decay = 'linear'", "decay"),
        ("precision = 'int4'", "precision"),
        ("fold = '6/5'", "not a fold"),
        ("tokens_per_batch = 100", "one window"),
        ("model = 3", "it has to be ModelConfig"),
        ("[model]\nlayers = 0", "layers is 0"),
        ("[model]\nlayer = 1", "'layer'"),
        ("epochs = ", "not TOML"),
    ],
)
def test_bad_settings_name_themselves(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(BadInput, match=why):
        config.read(tmp_path / "c.toml")


def test_the_curriculum_goes_up_to_the_models_context() -> None:
    settings = TrainConfig(model=ModelConfig(context=64), curriculum=((16, 2), (32, 1)))
    assert [settings.context_of(epoch) for epoch in range(5)] == [16, 16, 32, 64, 64]


def test_a_run_that_goes_on_has_its_own_settings(tmp_path: Path) -> None:
    """What is said is laid over them; a preset, a file or a part stands for a whole run's settings."""
    config.write(replace(preset("tiny"), seed=5), tmp_path / "config.toml")
    nothing = {"seed": None, "fold": None}
    assert settle(tmp_path, "resume", None, None, None, nothing) == replace(preset("tiny"), seed=5)
    assert settle(tmp_path, "either", None, None, None, {"seed": 6}).seed == 6
    assert settle(tmp_path, "resume", "small", None, None, nothing) == preset("small")
    assert settle(tmp_path / "nothing", "either", None, None, None, nothing) == preset("small")


def test_what_a_task_does_not_take_is_refused() -> None:
    for option, value in (("split", [7, 1]), ("epochs", 5)):
        with pytest.raises(BadInput, match=rf"--{option}: the shipped task does not take it"):
            choose("shipped", None, None, {option: value})


def test_a_fold_means_the_same_in_a_file_and_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('fold = "1/3"')
    assert choose("tiny", tmp_path / "c.toml", None, {}) == choose("tiny", None, None, {"fold": "1/3"})
    (tmp_path / "d.toml").write_text('fold = "1/3"\nsplit = [3, 2]')
    assert choose("tiny", tmp_path / "d.toml", None, {}).split == (3, 2)
