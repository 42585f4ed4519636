"""Where model files are: those that ship with the package (README.md beside them is their card), and a run's."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stap.errors import BadInput

RUN_MODELS = ("best.safetensors", "model.safetensors")  # of a run folder, by task
SHIPPED = ("stap", "pure")  # by name: what predicts unless another is named, and the paper's idea alone


def shipped(name: str = SHIPPED[0]) -> Path:
    """Where its file is: for the engine, from Python or from C."""
    path = Path(str(files(__name__) / f"{name}.safetensors"))
    if not path.is_file():
        raise BadInput(str(path), "the model that ships with stap is missing", "install stap again")
    return path


def model_file(path: Path | None) -> Path:
    """A model file, or the one in a run's folder; one that ships by its name, where no file has it; None: the usual."""
    if path is None:
        return shipped()
    if str(path) in SHIPPED and not path.exists():
        return shipped(str(path))
    if not path.is_dir():
        return path
    present = [path / name for name in RUN_MODELS if (path / name).exists()]
    if not present:
        raise BadInput(str(path), "a folder without a trained model", "give a run's folder or a model file")
    return present[0]
