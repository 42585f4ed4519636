"""The model that ships with the package; README.md beside it is its card."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stap.errors import BadInput


def shipped() -> Path:
    """Where its file is: for the engine, from Python or from C."""
    path = Path(str(files(__name__) / "stap.safetensors"))
    if not path.is_file():
        raise BadInput(str(path), "the model that ships with stap is missing", "install stap again")
    return path
