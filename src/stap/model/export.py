"""Model files for the engine, smaller than training leaves them; and as ONNX for everybody else. No torch here.

int8: every row of a large matrix becomes whole numbers -127..127 with a scale of its own (`<name>.scale`, float32).
Norms, biases and embeddings stay float32: they are small, and the engine multiplies them out while reading anyway.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stap.errors import BadInput, extra
from stap.model import weights
from stap.model.weights import Array
from stap.weights import model_file

Dtype = Literal["fp32", "fp16", "int8"]
Format = Literal["safetensors", "onnx"]


def quantise(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(rows, cols) -> whole numbers, halves to the even one, and a scale for every row."""
    scale = np.maximum(np.abs(matrix).max(axis=1), np.float32(1e-30)) / np.float32(127)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def convert(tensors: dict[str, NDArray[np.float32]], dtype: Dtype) -> dict[str, Array]:
    converted: dict[str, Array] = {}
    for name, tensor in tensors.items():
        if not weights.is_large(name) or dtype == "fp32":
            converted[name] = tensor
        elif dtype == "fp16":
            converted[name] = tensor.astype(np.float16)
        else:
            converted[name], converted[name + weights.SCALE] = quantise(tensor)
    return converted


def export(source: Path, out: Path, dtype: Dtype = "fp32", format: Format = "safetensors") -> None:
    """A run folder's model, or a model file, as another file."""
    path = model_file(source)
    config = weights.read_config(path)
    tensors = weights.floats(path, config)
    if format == "onnx":
        if config.evidence:
            why = "ONNX carries the transformer alone, and this model ranks with its evidence head"
            raise BadInput(str(path), why, "export it as safetensors")
        if dtype != "fp32":
            raise BadInput(str(out), f"ONNX is written in fp32, not {dtype}", "leave --dtype out")
        extra("stap.model.onnx").export(config, tensors, out)
    else:
        weights.write_model(convert(tensors, dtype), config, out)
