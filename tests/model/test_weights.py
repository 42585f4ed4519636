"""Model files: what is saved comes back; what does not fit its config is refused before anything is allocated."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stap.errors import BadInput
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer

CONFIG = ModelConfig(vocabulary=7, context=8, dim=8, layers=1, heads=2, hidden=6, ordinal_heads=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    weights.save(Transformer(CONFIG), tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def forge(path: Path, header: Any, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_round_trip(path: Path) -> None:
    torch.manual_seed(0)
    original, loaded = Transformer(CONFIG).state_dict(), weights.load(path)
    assert loaded.config == CONFIG
    assert not loaded.training
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in original.items())
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_is_written_is_the_array_however_it_lies_in_memory(path: Path) -> None:
    """A transposed view, and a parameter that a gradient flows to."""
    metadata, tensors = weights.read_header(path).metadata, dict(weights.load(path).named_parameters())
    view = np.arange(56, dtype=np.float32).reshape(8, 7).T
    weights.write({**tensors, "head.weight": view}, metadata, path)
    assert np.array_equal(weights.load(path).head.weight.detach().numpy(), view)


def test_half_precision_files_load(path: Path) -> None:
    metadata = weights.read_header(path).metadata
    model = weights.load(path)
    weights.write({name: tensor.half() for name, tensor in model.state_dict().items()}, metadata, path)
    assert torch.equal(weights.load(path).head.weight, model.head.weight.half().float())


def edit_config(**values: Any) -> Callable[[dict[str, Any]], None]:
    def edit(header: dict[str, Any]) -> None:
        header["__metadata__"]["config"] = json.dumps(json.loads(CONFIG.to_json()) | values)

    return edit


def edit_entry(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["head.weight"].update(values)


def rename(header: dict[str, Any]) -> None:
    header["haed.weight"] = header.pop("head.weight")


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda h: h.pop("__metadata__"), "no stap model"),
        (lambda h: h["__metadata__"].pop("config"), "no model config"),
        (lambda h: h["__metadata__"].update(config="[" * 100_000), "no model config"),
        (lambda h: h["__metadata__"].update(config="[]"), "no table"),
        (lambda h: h["__metadata__"].update(config=3), "damaged"),
        (lambda h: h["__metadata__"].update(format="stap-checkpoint"), "best.safetensors"),
        (edit_config(layers=2), "missing"),
        (edit_config(dim=10**12), "dim is"),
        (edit_config(dim=8.0), "dim is"),
        (edit_config(heads=3), "does not give"),
        (edit_config(context=7), "two events"),
        (edit_config(ordinal_heads=3), "ordinal_heads"),
        (edit_config(time_base=float("nan")), "out of range"),
        (edit_config(query_key_norm=1), "query_key_norm"),
        (edit_config(layers=True), "layers"),
        (edit_config(surprise=1), "surprise"),
        (edit_config(hidden=5), "shape"),
        (rename, "'haed.weight' does not belong"),
        (edit_entry(shape=[8, 7]), "shape"),
        (edit_entry(dtype="I32"), "I32"),
        (edit_entry(data_offsets=[0, 4]), "overlap"),
        (edit_entry(data_offsets=None), "damaged"),
    ],
)
def test_forged_headers_are_refused(path: Path, edit: Callable[[dict[str, Any]], None], why: str) -> None:
    header, data = parts(path)
    edit(header)
    forge(path, header, data)
    with pytest.raises(BadInput, match=why):
        weights.load(path)


@pytest.mark.parametrize("cut", [0, 7, 8, 100, 1500, -1])
def test_cut_off_files_are_refused(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(BadInput):
        weights.load(path)


def test_a_header_longer_than_the_file_is_refused(path: Path) -> None:
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(BadInput, match="no safetensors"):
        weights.load(path)
    with pytest.raises(BadInput, match="No such file"):
        weights.load(path.with_name("absent"))
