"""Model files: safetensors, with the config as JSON in the header's metadata. Only `load` and `save` need torch.

The header is held against the config before any tensor is allocated: names, shapes and dtypes must be exactly what the
config says. That tensors do not overlap and fill the file is checked by safetensors itself, that it is what was written
by its hashes, where it has any (`seal`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from stap import seal
from stap.errors import BadInput
from stap.files import regular, replacing
from stap.model.config import REMEDY, ModelConfig

if TYPE_CHECKING:
    from torch import Tensor

    from stap.model.transformer import Transformer

Array = NDArray[Any]

MODEL, CHECKPOINT = "stap-model", "stap-checkpoint"  # metadata["format"]
DTYPES = ("F32", "F16")
WHOLE, SCALE = "I8", ".scale"  # whole numbers -127..127, and the tensor that says what they are to be multiplied with
LARGEST_WHOLE = 127
_LARGE = ("attention.qkv.weight", "attention.out.weight", "feedforward.gate_up.weight", "feedforward.down.weight")


def is_large(name: str) -> bool:
    """Whether `stap export` makes this tensor smaller."""
    return name.endswith(_LARGE) or name == "head.weight"


@dataclass(frozen=True)
class Header:
    """What a file says of itself: metadata, and every tensor's dtype and shape."""

    metadata: dict[str, str]
    tensors: dict[str, tuple[str, tuple[int, ...]]]

    def config(self, where: str) -> ModelConfig:
        try:
            values = json.loads(self.metadata["config"])
        except (KeyError, ValueError, RecursionError):
            raise BadInput(where, "no model config in its header", REMEDY) from None
        return ModelConfig.from_dict(values, where)


def read_header(path: Path) -> Header:
    """The header of a safetensors file; a file that lies about its tensors is refused."""
    try:
        with open(regular(path), "rb"), safe_open(path, "numpy") as file:  # the first for the system's own words
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
            tensors = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
            return Header(file.metadata() or {}, tensors)
    except OSError as error:
        raise BadInput(str(path), f"cannot read it ({error.strerror})", "check the path") from None
    except SafetensorError as error:
        why = "tensors overlap, or are not of their shape" if "offset" in str(error) else str(error)
        raise BadInput(str(path), f"no safetensors file, or a damaged one ({why})", REMEDY) from None


def check(header: Header, shapes: Mapping[str, tuple[int, ...]], where: str) -> None:
    """The tensors must be exactly these, in a dtype we know; a large one in int8 brings a scale for every row."""
    dtypes = {name: dtype for name, (dtype, _) in header.tensors.items()}
    whole = [name for name in shapes if dtypes.get(name) == WHOLE and is_large(name)]
    shapes = {**shapes, **{name + SCALE: shapes[name][:1] for name in whole}}
    for name in sorted(shapes.keys() ^ header.tensors.keys()):
        why = f"tensor {name!r} is missing" if name in shapes else f"tensor {name!r} does not belong to its config"
        raise BadInput(where, why, REMEDY)
    for name, shape in shapes.items():
        dtype, stored = header.tensors[name]
        if stored != shape:
            raise BadInput(where, f"tensor {name!r} has shape {stored}, its config says {shape}", REMEDY)
        if dtype not in DTYPES and name not in whole:
            raise BadInput(where, f"tensor {name!r} is {dtype}", "use a model that `stap export` wrote")


def read_config(path: Path) -> ModelConfig:
    """The config of a model file, after every check that needs no tensor."""
    header = read_header(path)
    kind = header.metadata.get("format")
    if kind == CHECKPOINT:
        raise BadInput(str(path), "a training checkpoint, not a model", "use best.safetensors of the same run")
    if kind != MODEL:
        raise BadInput(str(path), "a safetensors file, but no stap model", REMEDY)
    config = header.config(str(path))
    check(header, config.tensors(), str(path))
    return config


def load(path: Path) -> Transformer:
    """The model in a file, ready to predict."""
    import torch

    from stap.model.transformer import Transformer

    config = read_config(path)
    model = Transformer(config)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in floats(path, config).items()})
    return model.eval()


def stored(path: Path) -> dict[str, Array]:
    """The tensors of a file whose header was checked, as they are stored: what was written, and possible."""
    seal.check(path)
    tensors: dict[str, Array] = load_file(path)
    scales = {name + SCALE for name, tensor in tensors.items() if tensor.dtype == np.int8}
    for name, tensor in tensors.items():
        if tensor.dtype == np.int8:
            fine = bool((tensor >= -LARGEST_WHOLE).all())
        else:
            fine = bool(np.isfinite(tensor).all()) and not (name in scales and (tensor <= 0).any())
        if not fine:
            raise BadInput(str(path), f"tensor {name!r} holds a value that no weight can have", REMEDY)
    return tensors


def floats(path: Path, config: ModelConfig) -> dict[str, NDArray[np.float32]]:
    """A checked file's tensors in float32, whatever they are stored in."""
    tensors = stored(path)
    scaled = {name: tensors[name + SCALE][:, None] for name in config.tensors() if name + SCALE in tensors}
    return {name: tensors[name].astype(np.float32) * scaled.get(name, np.float32(1)) for name in config.tensors()}


def save(model: Transformer, path: Path) -> None:
    """Write beside and rename."""
    write_model(model.state_dict(), model.config, path)


def write_model(tensors: Mapping[str, Tensor | Array], config: ModelConfig, path: Path) -> None:
    write(tensors, {"format": MODEL, "config": config.to_json()}, path)


def write(tensors: Mapping[str, Tensor | Array], metadata: dict[str, str], path: Path) -> None:
    """A sealed safetensors file, beside and renamed."""
    arrays = {
        name: np.asarray(tensor if isinstance(tensor, np.ndarray) else tensor.detach().cpu().numpy(), order="C")
        for name, tensor in tensors.items()
    }
    with replacing(path) as draft:
        draft.write_bytes(seal.sealed(arrays, metadata))
