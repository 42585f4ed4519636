"""Which model answers for whom: one for everybody, and for some people one that was adapted to them."""

from __future__ import annotations

from pathlib import Path

from stap.files import fingerprint
from stap.predictor import Predictor
from stap.weights import model_file


class Brains:
    """Models in memory, each once for all who use it, with the fingerprints of their files."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = model_file(path)
        self._shared = _loaded(self.path)

    def of(self, user: int) -> tuple[Predictor, str]:
        """A predictor of nobody, from which fresh ones are made, and which model it has."""
        return self._shared


def _loaded(path: Path) -> tuple[Predictor, str]:
    return Predictor.load(path), fingerprint(path)
