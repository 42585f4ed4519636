"""Evidence as training sees it: of every usage, computed once by the engine.

Every usage has one question, after its open or its close: which other app comes next; or, of launches, which one comes
next, the same included, at a moment or whenever that is. The answer is one of the COMPARED likeliest by the blend, or
an app never seen before. Where it is a known app beyond these, the question is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stap import _engine
from stap.events import WHENEVER, Bools, Floats, Ints, Longs, Usages
from stap.evidence import COMPARED

SKIPPED = -1  # no answer among the candidates, or the person's last usage
Random = np.random.Generator


class Asking(NamedTuple):
    """How often each question is asked; what is left is asked after the close."""

    opened: float  # after the open
    launch: float = 0.0  # of launches, at the next one's moment
    between: float = 0.0  # or at a moment before it; otherwise of whenever it comes


USAGES, ONLY_OPENS, LAUNCHES = Asking(0.1), Asking(1.0), Asking(0.05, launch=0.7, between=0.1)


@dataclass(frozen=True)
class Table:
    """What goes with n usages: of one person, or of several end to end."""

    opened: Bools  # (n,) asked after the open, otherwise after the close
    moment: NDArray[np.float32]  # (n, 2, C) after the open, after the close
    asked: NDArray[np.float32]  # (n, C) as of the question
    candidate: Ints  # (n, K) app codes, -1 past the last
    statistics: NDArray[np.float16]  # (n, K, F)
    rank: NDArray[np.uint8]  # (n, K) of recency
    answer: Longs  # (n,) which candidate came next; K: a first-ever app; SKIPPED

    def __len__(self) -> int:
        return len(self.answer)


def tabulate(usages: Usages, rng: Random, asking: Asking = USAGES, candidates: int = COMPARED) -> Table:
    """What the engine says of usages whose codes count by first use."""
    app = np.ascontiguousarray(usages.app, np.int32)
    start, end = np.ascontiguousarray(usages.start), np.ascontiguousarray(usages.end)
    chance = rng.random(len(app))
    opened = chance < asking.opened
    at = _moments(start, end, chance - asking.opened, asking, rng) if asking.launch else np.full(len(app), np.nan)
    columns = _engine.evidence_table(app, start, end, opened, at, candidates)
    candidate, statistics, rank, moment, asked = columns
    following = app[1:]
    hit = candidate[:-1] == following[:, None]
    answer = np.full(len(app), SKIPPED, np.int64)
    answer[:-1] = np.where(hit.any(axis=1), hit.argmax(axis=1), SKIPPED)
    answer[:-1][following > np.maximum.accumulate(app)[:-1]] = candidates
    return Table(opened, moment, asked, candidate, statistics.astype(np.float16), rank, answer)


def _moments(start: Floats, end: Floats, chance: Floats, asking: Asking, rng: Random) -> Floats:
    """When each usage is asked about the next launch; WHENEVER at the open, and where that is all there is."""
    at = np.full(len(start), WHENEVER.minutes)
    early = np.where(chance[:-1] < asking.launch, 0.0, rng.random(len(start) - 1))  # 0: at the launch, 1: at the close
    moment = start[1:] - early * (start[1:] - end[:-1])
    at[:-1] = np.where((chance[:-1] >= 0) & (chance[:-1] < asking.launch + asking.between), moment, at[:-1])
    return at


def join(tables: Sequence[Table]) -> Table:
    """Tables end to end."""
    return Table(*(np.concatenate([getattr(table, field.name) for table in tables]) for field in fields(Table)))
