"""Where model files are: the one that ships with the package (README.md beside it is its card), and a run's."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stap.errors import BadInput

RUN_MODELS = ("best.safetensors", "model.safetensors")  # of a run folder, by task


def shipped() -> Path:
    """Where its file is: for the engine, from Python or from C."""
    path = Path(str(files(__name__) / "stap.safetensors"))
    if not path.is_file():
        raise BadInput(str(path), "the model that ships with stap is missing", "install stap again")
    return path


def model_file(path: Path) -> Path:
    """A model file, or the one in a run's folder."""
    if not path.is_dir():
        return path
    present = [path / name for name in RUN_MODELS if (path / name).exists()]
    if not present:
        raise BadInput(str(path), "a folder without a trained model", "give a run's folder or a model file")
    return present[0]
