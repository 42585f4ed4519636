"""People as training sees them: every usage's evidence, computed once by the engine, and windows cut from it.

A position is a usage: after its close (sometimes already after its open), which app comes next? The answer is one of
the CANDIDATES likeliest by the blend, or an app never seen before. Where it is a known app beyond the candidates, the
position is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stap import _engine
from stap.events import DAY, Bools, Corpus, Floats, Ints, Longs, Usages, interleave
from stap.evidence import COMPARED

CANDIDATES = COMPARED
AT_OPEN = 0.1  # of the positions are asked while the usage still goes on
SKIPPED = -1  # no answer among the candidates, or the person's last usage
Random = np.random.Generator


@dataclass(frozen=True)
class Table:
    """One person, n usages."""

    app: Ints  # (n,)
    minutes: Floats  # (n, 2) of open and close
    at_open: Bools  # (n,) whether the position is the open or the close
    context: NDArray[np.float32]  # (n, 2, C)
    candidate: Ints  # (n, K) app codes, -1 past the last
    statistics: NDArray[np.float16]  # (n, K, F)
    rank: NDArray[np.uint8]  # (n, K) of recency
    answer: Longs  # (n,) which candidate came next; K: a first-ever app; SKIPPED
    person: int = 0  # whose phi it is where phi is not drawn anew for every window

    def __len__(self) -> int:
        return len(self.app)

    @property
    def apps(self) -> int:
        return int(self.app.max()) + 1


def tabulate(
    log: Usages, rng: Random, at_open: float = AT_OPEN, candidates: int = CANDIDATES, person: int = 0
) -> Table:
    """What the engine says of a log whose codes count by first use."""
    app = np.ascontiguousarray(log.app, np.int32)
    early = rng.random(len(app)) < at_open
    columns = (app, np.ascontiguousarray(log.start), np.ascontiguousarray(log.end), early)
    candidate, statistics, rank, context = _engine.evidence_table(*columns, candidates)
    following = app[1:]
    hit = candidate[:-1] == following[:, None]
    answer = np.full(len(app), SKIPPED, np.int64)
    answer[:-1] = np.where(hit.any(axis=1), hit.argmax(axis=1), SKIPPED)
    answer[:-1][following > np.maximum.accumulate(app)[:-1]] = candidates
    minutes = np.stack([log.start, log.end], axis=1)
    return Table(app, minutes, early, context, candidate, statistics.astype(np.float16), rank, answer, person)


def logs_of(corpus: Corpus) -> list[Usages]:
    rows = [corpus.rows(user) for user in range(len(corpus.users))]
    return [Usages(corpus.app[one], corpus.start[one], corpus.end[one]) for one in rows]


@dataclass(frozen=True)
class Moments:
    """A batch of B windows of at most n usages (2n events), as arrays for the model."""

    app: Longs  # (B, 2n) virtual indices
    action: Longs  # (B, 2n)
    minutes: Floats  # (B, 2n)
    hour: NDArray[np.float32]  # (B, 2n)
    context: NDArray[np.float32]  # (B, 2n, C)
    position: Longs  # (B, n) the event after which each usage's question is asked
    index: Longs  # (B, n, K) the candidates' virtual indices, -1 for none
    statistics: NDArray[np.float32]  # (B, n, K, F)
    rank: Longs  # (B, n, K)
    present: Bools  # (B, n, K)
    answer: Longs  # (B, n)


Window = tuple[Table, int, int]  # usages first..last-1


def windows(tables: Sequence[Table], usages: int, rng: Random, least: int = 16) -> list[Window]:
    """Every person cut into windows from a random first cut on, in random order."""
    found: list[Window] = []
    for table in tables:
        cuts = [*range(int(rng.integers(1, usages + 1)), len(table), usages), len(table)]
        pairs = zip([0, *cuts], cuts, strict=False)
        found += [(table, low, high) for low, high in pairs if high - low >= min(least, len(table))]
    return [found[i] for i in rng.permutation(len(found))]


def collate(chosen: Sequence[Window], vocabulary: int, rng: Random, shuffle: bool = True) -> Moments:
    """Windows side by side, padded at the end, each with a phi of its own."""
    usages = max(high - low for _, low, high in chosen)
    pieces = [_encode(window, usages, vocabulary, rng, shuffle) for window in chosen]
    return Moments(*(np.stack(arrays) for arrays in zip(*pieces, strict=True)))


def _encode(
    window: Window, usages: int, vocabulary: int, rng: Random, shuffle: bool
) -> tuple[NDArray[np.generic], ...]:
    table, low, high = window
    if shuffle:
        phi = draw_phi(table, low, high, vocabulary, rng)
    else:  # once a person, for all windows and rounds
        phi = draw_phi(table, 0, len(table), vocabulary, np.random.default_rng(table.person))
    rows = np.minimum(np.arange(low, low + usages), high - 1)  # past its end a window repeats its last usage
    app = phi[table.app[rows]]
    minutes = table.minutes[rows].ravel()
    candidate = table.candidate[rows]
    answer = table.answer[rows]
    answer = np.where(np.arange(low, low + usages) < high, answer, SKIPPED)
    return (
        interleave(app, app),
        np.tile(np.array([1, 0]), usages),
        minutes - minutes[0],
        (np.mod(minutes, DAY) / 60.0).astype(np.float32),
        table.context[rows].reshape(2 * usages, -1),
        2 * np.arange(usages) + ~table.at_open[rows],
        np.where(candidate >= 0, phi[np.maximum(candidate, 0)], -1),
        table.statistics[rows].astype(np.float32),
        table.rank[rows].astype(np.int64),
        candidate >= 0,
        answer,
    )


def draw_phi(table: Table, low: int, high: int, vocabulary: int, rng: Random) -> Longs:
    """(apps,) a random virtual index each; who finds none (-1) was not used in the window, if that is possible."""
    inside = np.unique(table.app[low:high])
    outside = np.setdiff1d(np.arange(table.apps), inside)
    order = np.concatenate([inside, rng.permutation(outside)])
    phi = np.full(table.apps, -1, np.int64)
    taken = order[:vocabulary]
    phi[taken] = rng.permutation(vocabulary)[: len(taken)]
    phi[inside[vocabulary:]] = rng.integers(vocabulary, size=len(inside[vocabulary:]))
    return phi
