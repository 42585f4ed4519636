"""STAP: a next-app predictor that never needs to know what an app is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stap.predictor import Predictor

__version__ = "0.1.0"
__all__ = ["Predictor", "__version__"]


def __getattr__(name: str) -> Any:
    """Predictor comes with the engine and its tables, so it is imported when it is first asked for."""
    if name != "Predictor":
        raise AttributeError(f"module 'stap' has no attribute {name!r}")
    from stap.predictor import Predictor

    return Predictor
