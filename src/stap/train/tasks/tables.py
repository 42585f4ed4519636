"""Evidence as training sees it: of every usage, computed once by the engine.

Every usage has a position where it is asked which app comes next: after its open or its close, which other one; at the
next launch, or whenever that comes, which one, the same included. The answer is one of the COMPARED likeliest by the
blend, or an app never seen before. Where it is a known app beyond these, the position is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from stap import _engine
from stap.events import Ints, Longs, Usages
from stap.evidence import COMPARED

OPEN, CLOSE, LAUNCH, WHENEVER = range(4)  # positions
USAGES = (0.1, 0.9, 0.0, 0.0)  # how often each, of merged usages
LAUNCHES = (0.05, 0.15, 0.6, 0.2)
ONLY_OPENS = (1.0, 0.0, 0.0, 0.0)
SKIPPED = -1  # no answer among the candidates, or the person's last usage
Random = np.random.Generator


@dataclass(frozen=True)
class Table:
    """What goes with n usages: of one person, or of several end to end."""

    position: NDArray[np.int8]  # (n,) OPEN, CLOSE, LAUNCH or WHENEVER
    moment: NDArray[np.float32]  # (n, 2, C) after the open, after the close
    asked: NDArray[np.float32]  # (n, C) at the position
    candidate: Ints  # (n, K) app codes, -1 past the last
    statistics: NDArray[np.float16]  # (n, K, F)
    rank: NDArray[np.uint8]  # (n, K) of recency
    answer: Longs  # (n,) which candidate came next; K: a first-ever app; SKIPPED

    def __len__(self) -> int:
        return len(self.answer)


def tabulate(usages: Usages, rng: Random, shares: Sequence[float] = USAGES, candidates: int = COMPARED) -> Table:
    """What the engine says of usages whose codes count by first use; shares: of the four positions."""
    app = np.ascontiguousarray(usages.app, np.int32)
    position = np.searchsorted(np.cumsum(shares)[:-1], rng.random(len(app)), side="right").astype(np.int8)
    columns = (app, np.ascontiguousarray(usages.start), np.ascontiguousarray(usages.end), position)
    candidate, statistics, rank, moment, asked = _engine.evidence_table(*columns, candidates)
    following = app[1:]
    hit = candidate[:-1] == following[:, None]
    answer = np.full(len(app), SKIPPED, np.int64)
    answer[:-1] = np.where(hit.any(axis=1), hit.argmax(axis=1), SKIPPED)
    answer[:-1][following > np.maximum.accumulate(app)[:-1]] = candidates
    return Table(position, moment, asked, candidate, statistics.astype(np.float16), rank, answer)


def join(tables: Sequence[Table]) -> Table:
    """Tables end to end."""
    return Table(*(np.concatenate([getattr(table, field.name) for table in tables]) for field in fields(Table)))
