"""Filter users, split them, cut their usages into windows, pad, encode: what the model is trained and tested on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stap.events import CLOSE, NO_LABEL, OPEN, Bools, Corpus, Floats, Ints, Longs, hour_of_day, interleave
from stap.phi import apply

VOCABULARY = 200  # V of the paper
CONTEXT = 4096  # L of the paper, in events
_ROUND = 64  # trimmed windows have multiples of this many events, so that a compiled model meets few shapes


def filter_users(corpus: Corpus, vocabulary: int = VOCABULARY) -> Corpus:
    """Drop users with more distinct apps than phi has room for."""
    return corpus.select(np.flatnonzero(corpus.app_counts <= vocabulary))


def split_users(count: int, ratios: Sequence[int], seed: int) -> list[Longs]:
    """Users 0..count-1 in random parts whose sizes are as near to the ratios as whole people allow; nobody is left out.

    (7, 1, 2) of 846 is 592 + 85 + 169. Where two parts round equally well the first one gets the extra user.
    """
    exact = np.array(ratios) * count / sum(ratios)
    sizes = np.floor(exact).astype(np.int64)
    short = count - int(sizes.sum())
    sizes[np.argsort(-np.round(exact - sizes, 9), kind="stable")[:short]] += 1
    order = np.random.default_rng(seed).permutation(count)
    return [np.sort(part) for part in np.split(order, np.cumsum(sizes)[:-1])]


@dataclass(frozen=True)
class Windows:
    """Where each window lies in the corpus: its user, its first usage, how many usages it holds (at most L/2)."""

    user: Longs
    first: Longs
    usages: Longs
    context: int  # L, in events

    def __len__(self) -> int:
        return len(self.user)

    def select(self, which: Longs) -> Windows:
        return replace(self, user=self.user[which], first=self.first[which], usages=self.usages[which])

    def rows(self, which: Longs) -> tuple[Longs, Bools]:
        """(n, L/2) the usages of windows `which`, and whether each place holds one or is padding."""
        step = np.arange(self.context // 2)
        here = step < self.usages[which, None]
        return self.first[which, None] + np.where(here, step, 0), here


def cut(corpus: Corpus, context: int = CONTEXT, lead: Longs | None = None) -> Windows:
    """Each user's usages in pieces of L/2; the last piece may be shorter, and so may the first: `lead` usages."""
    if context < 2 or context % 2:
        raise ValueError(f"a window holds whole usages: its length in events must be even, not {context}")
    half = context // 2
    sizes = np.diff(corpus.offsets)
    lead = np.full(len(sizes), half) if lead is None else lead
    pieces = np.where(sizes > 0, 1 + np.maximum(0, -(-(sizes - lead) // half)), 0)
    user = np.repeat(np.arange(len(sizes)), pieces)
    piece = np.arange(len(user)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    low = np.where(piece == 0, 0, lead[user] + (piece - 1) * half)
    high = np.minimum(sizes[user], lead[user] + piece * half)
    return Windows(user, corpus.offsets[user] + low, high - low, context)


@dataclass(frozen=True)
class Batch:
    """Encoded windows, (n, L) each. Padded positions have valid = False, label = NO_LABEL and app 0."""

    app: Ints
    action: NDArray[np.int8]
    minutes: Floats  # since the window's first event; in float64, for float32 knows a year's minutes only to 2 seconds
    hour: NDArray[np.float32]
    label: Ints  # NO_LABEL also at a user's very last usage
    valid: Bools


def encode(corpus: Corpus, windows: Windows, which: Longs, phi: Ints) -> Batch:
    """Windows `which`, with phi[i] for the i-th of them, as event arrays ready for a model."""
    row, here = windows.rows(which)
    app = np.where(here, apply(phi, corpus.app[row]), 0)
    label = np.where(here, apply(phi, corpus.label[row]), NO_LABEL)
    origin = corpus.start[windows.first[which], None]
    start, end = (np.where(here, time[row] - origin, 0.0) for time in (corpus.start, corpus.end))
    return Batch(
        app=np.repeat(app, 2, axis=1).astype(np.int32),
        action=np.tile(np.array([OPEN, CLOSE], np.int8), here.shape),
        minutes=interleave(start, end),
        hour=interleave(*(hour_of_day(time + origin) for time in (start, end))).astype(np.float32),
        label=np.repeat(label, 2, axis=1).astype(np.int32),
        valid=np.repeat(here, 2, axis=1),
    )


def trimmed(windows: Windows, which: Longs) -> Windows:
    """The same windows, cut off where the longest of `which` ends: padding at the end changes nothing but time."""
    longest = 2 * int(windows.usages[which].max())
    return replace(windows, context=min(windows.context, -(-longest // _ROUND) * _ROUND))


def pieces(windows: Windows, which: Longs, rank: int, size: int, tokens: int) -> list[Longs]:
    """One process's share of a batch (longest first), in pieces of at most `tokens` events once trimmed.

    Dealt out like cards, so that shares are alike in length and no window is on two processes.
    """
    share, parts = which[rank::size], []
    while len(share):
        count = max(1, tokens // trimmed(windows, share).context)
        parts.append(share[:count])
        share = share[count:]
    return parts
