"""STAP: a next-app predictor that never needs to know what an app is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stap.frames import compare
    from stap.predictor import Predictor
    from stap.serve.client import Client

__version__ = "0.1.0"
__all__ = ["Client", "Predictor", "__version__", "compare"]

_FROM = {
    "Client": "stap.serve.client",
    "Predictor": "stap.predictor",
    "compare": "stap.frames",
}  # with the engine and its tables: imported when asked for


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'stap' has no attribute {name!r}")
    return getattr(import_module(_FROM[name]), name)
