"""When in the day each app is used."""

from __future__ import annotations

import numpy as np

from stap.events import Floats

SHARPNESS = 8.0  # of a usage's footprint on the clock (von Mises): about an hour and a half to each side
EVEN = 2.0  # usages spread evenly over the day, which every app starts with
_RADIANS = 2.0 * np.pi / 24.0
_CENTRES = (np.arange(24) + 0.5) * _RADIANS


class Hours:
    """A smooth histogram over the 24 hours for every app. Smoothing when counting makes looking up free."""

    def __init__(self) -> None:
        self._density = np.zeros((24, 32))  # hour by app; 1 is a usage spread evenly
        self._usages = np.zeros(32)

    def add(self, code: int, hour: float) -> None:
        if code >= len(self._usages):
            room = len(self._usages)
            self._density = np.pad(self._density, ((0, 0), (0, room)))
            self._usages = np.pad(self._usages, (0, room))
        near = np.exp(SHARPNESS * np.cos(_CENTRES - hour * _RADIANS))
        self._density[:, code] += near * (24.0 / near.sum())
        self._usages[code] += 1.0

    def forget(self, code: int) -> None:
        self._density = np.pad(np.delete(self._density, code, axis=1), ((0, 0), (0, 1)))
        self._usages = np.pad(np.delete(self._usages, code), (0, 1))

    def lift(self, apps: int, hour: float) -> Floats:
        """(apps,) how many times as often as on average over the day each is used around this hour."""
        lift: Floats = (self._density[int(hour) % 24, :apps] + EVEN) / (self._usages[:apps] + EVEN)
        return lift
