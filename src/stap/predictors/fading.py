"""How often each app was used lately, at several meanings of lately at once."""

from __future__ import annotations

import numpy as np

from stap.events import Floats


class Fading:
    """Exponentially fading counts, one row a rate."""

    def __init__(self, rates: int) -> None:
        self._counts = np.zeros((rates, 32))

    def add(self, code: int, left: Floats) -> None:
        """Fade row i to left[i] of what it was, then count the app."""
        if code >= self._counts.shape[1]:
            self._counts = np.pad(self._counts, ((0, 0), (0, self._counts.shape[1])))
        self._counts *= left[:, None]
        self._counts[:, code] += 1.0

    def forget(self, code: int) -> None:
        self._counts = np.pad(np.delete(self._counts, code, axis=1), ((0, 0), (0, 1)))

    def counts(self, apps: int) -> Floats:
        """(rates, apps)"""
        return self._counts[:, :apps]
