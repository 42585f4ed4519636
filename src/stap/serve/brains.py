"""Which model answers for whom: one for everybody, and for some people one that was adapted to them."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock

from stap.errors import BadInput
from stap.files import fingerprint
from stap.predictor import Predictor
from stap.weights import model_file

FOLDER = "models"
Brain = tuple[Predictor, str]  # a predictor of nobody, from which fresh ones are made; the fingerprint of its model


class Brains:
    """Models in memory, each once for all who use it."""

    def __init__(self, path: Path | None, folder: Path) -> None:
        self._given, self._folder = path, folder / FOLDER
        self._adapted: dict[int, Brain] = {}
        self._lock = Lock()
        self.reload()
        for file in self._folder.glob("*.safetensors"):
            if file.stem.isdecimal():
                self._load(int(file.stem))

    def reload(self) -> bool:
        """Read the model's file again; whether it is another one now."""
        path = model_file(self._given)
        old, self._shared = getattr(self, "_shared", None), _loaded(path)
        self.path = path
        return old is None or old[1] != self._shared[1]

    def of(self, user: int) -> Brain:
        with self._lock:
            return self._adapted.get(user, self._shared)

    def file_of(self, user: int) -> Path:
        return self._own(user) if user in self._adapted else self.path

    @property
    def adapted(self) -> list[int]:
        return sorted(self._adapted)

    @property
    def fingerprints(self) -> list[str]:
        """Of all models in use."""
        return [self._shared[1], *(fingerprint for _, fingerprint in self._adapted.values())]

    def draft(self, user: int) -> Path:
        """Where a model that is being adapted is written."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return self._folder / f"{user}.tried.safetensors"

    def adopt(self, user: int) -> None:
        """The adapted model is the user's from now on."""
        os.replace(self.draft(user), self._own(user))
        self._load(user)

    def drop(self, user: int) -> bool:
        """Back to the model that all share; whether there was another one."""
        with self._lock:
            had = self._adapted.pop(user, None) is not None
        for file in (self._own(user), self.draft(user)):
            file.unlink(missing_ok=True)
        return had

    def _own(self, user: int) -> Path:
        return self._folder / f"{user}.safetensors"

    def _load(self, user: int) -> None:
        """A file that cannot be read counts as none: the shared model answers."""
        try:
            brain = _loaded(self._own(user))
        except BadInput:
            return
        with self._lock:
            self._adapted[user] = brain


def _loaded(path: Path) -> Brain:
    return Predictor.load(path), fingerprint(path)
