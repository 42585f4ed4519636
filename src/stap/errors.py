"""The one error a person can cause. The command line prints it as one line and exits with 2."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class BadInput(Exception):  # noqa: N818 - it names what is bad; every error is an error
    """Something from outside is wrong: names the file, the row where there is one, and the remedy."""

    def __init__(self, where: str, why: str, remedy: str, row: int | None = None) -> None:
        place = where if row is None else f"{where}, row {row}"
        super().__init__(f"{place}: {why}; {remedy}")
        self.where, self.why, self.remedy, self.row = where, why, remedy, row


def extra(module: str) -> Any:
    """Import one of our modules that needs torch or LightGBM, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "onnx", "onnxruntime", "lightgbm"):
            raise
        package = "onnx" if error.name.startswith("onnx") else "train"
        raise BadInput("stap", f"{error.name} is not installed", f"pip install 'stap[{package}]'") from None
