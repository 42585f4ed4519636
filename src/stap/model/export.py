"""Model files for the engine, smaller than training leaves them; and as ONNX for everybody else.

int8: every row of a large matrix becomes whole numbers -127..127 with a scale of its own (`<name>.scale`, float32).
Norms, biases and embeddings stay float32: they are small, and the engine multiplies them out while reading anyway.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from stap.errors import BadInput, extra
from stap.model import weights

Dtype = Literal["fp32", "fp16", "int8"]
Format = Literal["safetensors", "onnx"]
RUN_MODELS = ("best.safetensors", "model.safetensors")  # of a run folder: of `stap train`, of `stap recipe`


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, cols) -> whole numbers and a scale for every row."""
    scale = matrix.abs().amax(dim=1).clamp(min=1e-30) / 127
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def convert(tensors: dict[str, Tensor], dtype: Dtype) -> dict[str, Tensor]:
    converted: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if not weights.is_large(name) or dtype == "fp32":
            converted[name] = tensor
        elif dtype == "fp16":
            converted[name] = tensor.half()
        else:
            converted[name], converted[name + weights.SCALE] = quantise(tensor)
    return converted


def export(source: Path, out: Path, dtype: Dtype = "fp32", format: Format = "safetensors") -> None:
    """A run folder's best model, or a model file, as another file."""
    path = source
    if source.is_dir():
        path = next((source / name for name in RUN_MODELS if (source / name).exists()), source / RUN_MODELS[0])
    config = weights.read_config(path)
    tensors = weights.floats(path, config)
    if format == "onnx":
        if config.evidence:
            why = "ONNX carries the transformer alone, and this model ranks with its evidence head"
            raise BadInput(str(path), why, "export it as safetensors")
        if dtype != "fp32":
            raise BadInput(str(out), f"ONNX is written in fp32, not {dtype}", "leave --dtype out")
        extra("stap.model.onnx").export(config, {name: t.numpy() for name, t in tensors.items()}, out)
        return
    weights.write(convert(tensors, dtype), {"format": weights.MODEL, "config": config.to_json()}, out)
