"""Evidence as training sees it: of every usage, computed once by the engine.

A position is a usage: after its close (sometimes already after its open), which app comes next? The answer is one of
the COMPARED likeliest by the blend, or an app never seen before. Where it is a known app beyond these, the position is
skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from stap import _engine
from stap.events import Bools, Ints, Longs, Usages
from stap.evidence import COMPARED

AT_OPEN = 0.1  # of the positions are asked while the usage still goes on
SKIPPED = -1  # no answer among the candidates, or the person's last usage
Random = np.random.Generator


@dataclass(frozen=True)
class Table:
    """What goes with n usages: of one person, or of several end to end."""

    at_open: Bools  # (n,) whether the position is the open or the close
    moment: NDArray[np.float32]  # (n, 2, C) after the open, after the close
    candidate: Ints  # (n, K) app codes, -1 past the last
    statistics: NDArray[np.float16]  # (n, K, F)
    rank: NDArray[np.uint8]  # (n, K) of recency
    answer: Longs  # (n,) which candidate came next; K: a first-ever app; SKIPPED

    def __len__(self) -> int:
        return len(self.answer)


def tabulate(usages: Usages, rng: Random, at_open: float = AT_OPEN, candidates: int = COMPARED) -> Table:
    """What the engine says of usages whose codes count by first use."""
    app = np.ascontiguousarray(usages.app, np.int32)
    early = rng.random(len(app)) < at_open
    columns = (app, np.ascontiguousarray(usages.start), np.ascontiguousarray(usages.end), early)
    candidate, statistics, rank, moment = _engine.evidence_table(*columns, candidates)
    following = app[1:]
    hit = candidate[:-1] == following[:, None]
    answer = np.full(len(app), SKIPPED, np.int64)
    answer[:-1] = np.where(hit.any(axis=1), hit.argmax(axis=1), SKIPPED)
    answer[:-1][following > np.maximum.accumulate(app)[:-1]] = candidates
    return Table(early, moment, candidate, statistics.astype(np.float16), rank, answer)


def join(tables: Sequence[Table]) -> Table:
    """Tables end to end."""
    return Table(*(np.concatenate([getattr(table, field.name) for table in tables]) for field in fields(Table)))
