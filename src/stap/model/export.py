"""Model files for the engine, smaller than training leaves them; and as ONNX for everybody else.

int8: every row of a large matrix becomes whole numbers -127..127 with a scale of its own (`<name>.scale`, float32).
Norms, biases and embeddings stay float32: they are small, and the engine multiplies them out while reading anyway.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import load_file
from torch import Tensor

from stap.errors import BadInput, extra
from stap.model import weights

Dtype = Literal["fp32", "fp16", "int8"]
Format = Literal["safetensors", "onnx"]
BEST = "best.safetensors"  # of a run folder

_LARGE = ("attention.qkv.weight", "attention.out.weight", "feedforward.gate_up.weight", "feedforward.down.weight")


def is_large(name: str) -> bool:
    return name.endswith(_LARGE) or name == "head.weight"


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, cols) -> whole numbers and a scale for every row."""
    scale = matrix.abs().amax(dim=1).clamp(min=1e-30) / 127
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def convert(tensors: dict[str, Tensor], dtype: Dtype) -> dict[str, Tensor]:
    converted: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        whole = tensor.float()
        if not is_large(name) or dtype == "fp32":
            converted[name] = whole
        elif dtype == "fp16":
            converted[name] = whole.half()
        else:
            converted[name], converted[name + ".scale"] = quantise(whole)
    return converted


def export(source: Path, out: Path, dtype: Dtype = "fp32", format: Format = "safetensors") -> None:
    """A run folder's best model, or a model file, as another file."""
    path = source / BEST if source.is_dir() else source
    config = weights.read_config(path)
    tensors = load_file(path)
    if format == "onnx":
        if config.evidence:
            why = "ONNX carries the transformer alone, and this model ranks with its evidence head"
            raise BadInput(str(path), why, "export it as safetensors")
        if dtype != "fp32":
            raise BadInput(str(out), f"ONNX is written in fp32, not {dtype}", "leave --dtype out")
        extra("stap.model.onnx").export(config, {name: t.float().numpy() for name, t in tensors.items()}, out)
        return
    weights.write(convert(tensors, dtype), {"format": weights.MODEL, "config": config.to_json()}, out)
