"""Bit rot in model files, checkpoints and run logs: noticed, in one line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from train.made import corpus

from stap import seal
from stap.engine import EngineModel
from stap.errors import BadInput
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.export import export
from stap.model.transformer import Transformer
from stap.train import checkpoint, journal
from stap.train.checkpoint import Progress
from stap.train.presets import preset
from stap.train.run import train
from stap.weights import shipped

CONFIG = ModelConfig(vocabulary=7, context=8, dim=8, layers=1, heads=2, hidden=6)
FLIPS = 200


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    weights.save(Transformer(CONFIG), tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def flips(data: bytes) -> list[int]:
    """Places of bits, all over the header and all over the tensors."""
    header = 8 * (8 + int.from_bytes(data[:8], "little"))
    return [*range(0, header, 31), *random.Random(0).sample(range(header, 8 * len(data)), FLIPS)]


def flipped(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def values(path: Path) -> tuple[Any, ...]:
    config = weights.read_config(path)
    return config, {name: array.tobytes() for name, array in weights.floats(path, config).items()}


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_a_flipped_bit_is_refused_or_changes_nothing(path: Path, dtype: Any) -> None:
    """A blank between two words of the header may become another blank."""
    export(path, path, dtype)
    whole, wanted = path.read_bytes(), values(path)
    refused = 0
    bits = flips(whole)
    for bit in bits:
        path.write_bytes(flipped(whole, bit))
        try:
            assert values(path) == wanted, f"bit {bit} went unnoticed"
        except BadInput:
            refused += 1
    assert refused > 0.98 * len(bits)


def test_the_engine_holds_a_model_to_its_hashes_too(tmp_path: Path) -> None:
    """The one that ships: a new person's snapshot holds a fingerprint of all weights."""
    path, whole = tmp_path / "m.safetensors", shipped().read_bytes()
    wanted = EngineModel(shipped()).predictor().snapshot()
    refused = []
    bits = flips(whole)
    for bit in bits:
        path.write_bytes(flipped(whole, bit))
        try:
            assert EngineModel(path).predictor().snapshot() == wanted, f"bit {bit} went unnoticed"
        except BadInput as error:
            refused.append(str(error))
    assert len(refused) > 0.98 * len(bits)
    assert sum("m.safetensors: damaged: not what was written (its hash differs); use" in line for line in refused) > 200


def test_the_model_that_ships_is_sealed() -> None:
    metadata = weights.read_header(shipped()).metadata
    assert len(metadata[seal.TENSORS]) == len(metadata[seal.TEXTS]) == 64
    seal.check(shipped())


def test_a_file_without_hashes_is_read_as_before(path: Path, tmp_path: Path) -> None:
    """As those are that were written before there were any."""
    from safetensors.numpy import load_file, save_file

    old = tmp_path / "old.safetensors"
    save_file(load_file(path), old, {"format": weights.MODEL, "config": CONFIG.to_json()})
    assert values(old) == values(path)
    assert EngineModel(old).vocabulary == 7


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_weight_that_is_no_number_is_refused(path: Path, value: float) -> None:
    """Sealed, for whoever forges a file can seal it."""
    tensors = weights.stored(path)
    tensors["norm.weight"] = np.full_like(tensors["norm.weight"], value)
    weights.write_model(tensors, CONFIG, path)
    with pytest.raises(BadInput, match=r"tensor 'norm.weight' holds a value that no weight can have"):
        weights.load(path)


def test_whole_numbers_and_scales_have_their_ranges(path: Path) -> None:
    export(path, path, "int8")
    for name, value in (("head.weight", -128), ("head.weight.scale", 0), ("head.weight.scale", -1)):
        tensors = weights.stored(path)
        tensors[name] = np.full_like(tensors[name], value)
        weights.write_model(tensors, CONFIG, path.with_name("bad"))
        with pytest.raises(BadInput, match=f"tensor '{name}' holds"):
            weights.load(path.with_name("bad"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    train(corpus(), replace(preset("tiny"), epochs=1), folder, "made")
    return folder


def resume(folder: Path) -> None:
    train(corpus(), replace(preset("tiny"), epochs=1), folder, "made", "resume")


def test_a_flipped_bit_in_a_checkpoint_is_refused(run: Path) -> None:
    last = run / "last.safetensors"
    whole = last.read_bytes()
    resume(run)
    whole = last.read_bytes()
    for bit in random.Random(1).sample(range(8 * 20, 8 * len(whole)), 5):
        last.write_bytes(flipped(whole, bit))
        with pytest.raises(BadInput):
            resume(run)
    last.write_bytes(whole)
    resume(run)


def test_a_checkpoint_s_progress_has_its_types_and_ranges() -> None:
    good = asdict(Progress("data", epoch=3, steps=40, step=2, best_epoch=1, best_loss=3.5))
    Progress(**good).check()
    Progress("data").check()
    for name, value in [
        ("data", 3), ("epoch", -1), ("step", 41), ("steps", 1.5), ("sums", None), ("sums", {"loss": float("nan")}),
        ("sums", {"blend": float("inf")}), ("sums", {"known": "0"}), ("labels", True), ("events", 10**400),
        ("seconds", -1.0), ("best_loss", None), ("best_epoch", 4),
    ]:  # fmt: skip
        with pytest.raises(ValueError):  # noqa: PT011 - its words are for nobody
            Progress(**(good | {name: value})).check()


@pytest.mark.parametrize(
    "text", ["[1]", "{}", "{" * 100_000, '{"data": "x", "epoch": 1' + "0" * 5000 + "}", '{"data": "", "epoch": -1}']
)
def test_a_damaged_progress_is_one_line(run: Path, tmp_path: Path, text: str) -> None:
    last, other = run / "last.safetensors", tmp_path / "last.safetensors"
    metadata = weights.read_header(last).metadata
    weights.write(weights.stored(last), metadata | {"progress": text}, other)
    model = Transformer(ModelConfig.from_dict(json.loads(metadata["config"]), ""))
    optimiser = torch.optim.AdamW(model.parameters())
    with pytest.raises(BadInput, match="its progress is damaged"):
        checkpoint.load(other, model, [optimiser], "", {})


LINE: dict[str, Any] = {
    "epoch": 1, "context": 8, "steps": 3, "loss": 2.5, "events": 9, "seconds": 0.5,
    "validation": {"loss": 2.0, "HR@1": 1.0, "HR@5": 2.0},
}  # fmt: skip


def lines(*edits: Callable[[dict[str, Any]], Any]) -> str:
    return "".join(json.dumps(edit(LINE | {})) + "\n" for edit in edits)


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: line | {"epoch": "1"},
        lambda line: line | {"epoch": True},
        lambda line: line | {"loss": float("nan")},
        lambda line: line | {"seconds": 1e300},
        lambda line: line | {"context": -8},
        lambda line: line | {"validation": []},
        lambda line: line | {"validation": {"loss": 2.0}},
        lambda line: line | {"validation": {"loss": None, "HR@1": 1, "HR@5": 1}},
        lambda line: {name: value for name, value in line.items() if name != "steps"},
        lambda line: [line],
        lambda _: 7,
    ],
)
def test_a_damaged_line_of_a_run_s_log_is_named(tmp_path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(lines(dict, edit, dict))
    with pytest.raises(BadInput, match=r"log.jsonl, row 2: no line of a run's log .*; take the line out"):
        journal.read(path)


def test_a_log_s_torn_end_is_left_out_and_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(dict).encode() + b'{"epoch": 2, "con\0\0\xff')
    assert journal.read(path) == [LINE]
    path.write_bytes(b"\xff\xfe\n" + lines(dict).encode())
    with pytest.raises(BadInput, match="row 1"):
        journal.read(path)
