"""What a person launches, the app used last included: how often lately, how often after a pause, how far back.

The blend and the other statistics count usages, where the same app again is the same usage going on. The engine does
the same, in launches.cpp.
"""

from __future__ import annotations

import numpy as np

from stap.evidence import RANKS
from stap.predictors.again import PAUSES, USUAL, WHENEVER_USUAL

HALF_LIVES = (12.0, 150.0)  # launches
WAKING_HALF_LIFE = 25.0  # launches after a pause
RANK_FADE, RANK_STRENGTH = 0.99, 4.0
ANY = len(PAUSES) + 1  # whatever the length of the pause


class Launches:
    def __init__(self) -> None:
        self._last: dict[int, int] = {}  # by code: the number of its last launch, and what is left of its counts then
        self._counts: dict[int, list[float]] = {}
        self._waking: dict[int, tuple[int, float]] = {}  # the same of launches after a pause
        self.launches = self.wakings = self.since_waking = 0
        self.returned = False  # by the last launch
        nearness = np.array([0.0, *(1.0 / (r * r) for r in range(1, RANKS))])
        usual = np.array([*USUAL, WHENEVER_USUAL])[:, None]
        self._ranks = RANK_STRENGTH * (1.0 - usual) * nearness / nearness.sum()  # (lengths and any, RANKS)
        self._ranks[:, :1] = RANK_STRENGTH * usual

    def count(self, code: int, rank: int | None, length: int) -> None:
        """A launch after a pause of a length; rank: how far back the app was, None for a first-ever one."""
        self.launches += 1
        age = self.launches - self._last.get(code, 0)
        counts = self._counts.get(code, [0.0] * len(HALF_LIVES))
        self._counts[code] = [1.0 + n * 0.5 ** (age / h) for n, h in zip(counts, HALF_LIVES, strict=True)]
        self._last[code] = self.launches
        self.since_waking += 1
        if length:
            self.wakings += 1
            last, left = self._waking.get(code, (0, 0.0))
            self._waking[code] = (self.wakings, 1.0 + left * 0.5 ** ((self.wakings - last) / WAKING_HALF_LIFE))
            self.since_waking = 0
        self.returned = rank == 0
        if rank is None:
            return
        for counted in (length, ANY):
            self._ranks[counted] *= RANK_FADE
            self._ranks[counted, min(rank, RANKS - 1)] += 1.0

    def forget(self, code: int) -> None:
        """The app is gone; those behind it move up."""
        for counts in (self._last, self._counts, self._waking):
            moved = {other - (other > code): kept for other, kept in counts.items() if other != code}
            counts.clear()
            counts.update(moved)  # type: ignore[arg-type]

    def shares(self, code: int) -> list[float]:
        """Of the latest launches, by half-life."""
        age = self.launches - self._last[code]
        left = zip(self._counts[code], HALF_LIVES, strict=True)
        return [_share(count, age, self.launches, half_life) for count, half_life in left]

    def waking_share(self, code: int) -> float:
        """Of the latest launches after a pause."""
        last, count = self._waking.get(code, (0, 0.0))
        return _share(count, self.wakings - last, self.wakings, WAKING_HALF_LIFE)

    def rank_share(self, rank: int, length: int) -> float:
        """How often the app that far back is launched after such a pause, or after ANY."""
        return float(self._ranks[length, rank] / self._ranks[length].sum())

    def woke(self, code: int) -> bool:
        """Whether it was launched after the last pause."""
        return self.wakings > 0 and self._waking.get(code, (0, 0.0))[0] == self.wakings


def _share(count: float, age: int, n: int, half_life: float) -> float:
    """A fading count as a share of what it could be: of n events, the latest of which weighs 1."""
    if n == 0:
        return 0.0
    return float(count * 0.5 ** (age / half_life) * (1.0 - 0.5 ** (1.0 / half_life)) / (1.0 - 0.5 ** (n / half_life)))
