"""phi: the random injective map from a user's apps to virtual indices 0..V-1.

For training it is drawn anew for every window at every epoch, from a hash of (seed, epoch, window): any process can
draw any window's phi, in any order, and gets the same one. At inference it grows app by app (`OnlinePhi`).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stap.events import Ints, Longs

UNUSED = -1


def draw(seed: int, epoch: int, windows: ArrayLike, vocabulary: int) -> Ints:
    """(n,) window numbers -> (n, V): row w is a uniform random permutation; app code a of window w becomes phi[w, a].

    The non-shuffle ablation is the same call with epoch 0 and the windows' users in place of the windows.
    """
    windows = np.asarray(windows, np.uint64)
    stream = _mix(_mix(np.array([seed], np.uint64)) ^ np.uint64(epoch))
    row = _mix(_mix(windows ^ stream))[:, None]
    keys = _mix(row + np.arange(1, vocabulary + 1, dtype=np.uint64) * _GOLDEN)
    return np.argsort(keys, axis=1, kind="stable").astype(np.int32)


def widen(phi: Ints, app_counts: Longs, used: Sequence[Ints]) -> Ints:
    """(n, V) -> (n, apps), for people who may have more than V apps; used[w]: the codes in window w.

    The window's own apps get an index first, the others while there are any left; who finds none is UNUSED.
    """
    vocabulary, most = phi.shape[1], int(app_counts.max(initial=0))
    if most <= vocabulary:
        return phi
    wide = np.full((len(phi), most), UNUSED, np.int32)
    wide[:, :vocabulary] = phi
    for window in np.flatnonzero(app_counts > vocabulary).tolist():
        inside = np.unique(used[window])
        order = np.concatenate([inside, np.setdiff1d(np.arange(app_counts[window]), inside)])
        wide[window] = UNUSED
        wide[window, order[:vocabulary]] = phi[window]
        wide[window, inside[vocabulary:]] = phi[window, : max(0, len(inside) - vocabulary)]  # these have to share
    return wide


def apply(phi: Ints, app: Ints) -> Ints:
    """phi (n, V), app codes (n, m) -> virtual indices (n, m); negative codes (padding, no label) stay as they are."""
    virtual = np.take_along_axis(phi, np.maximum(app, 0), axis=1)
    return np.where(app >= 0, virtual, app)


def invert(phi: Ints, app_counts: Longs) -> Ints:
    """(n, V) -> (n, V): the app code behind each virtual index, UNUSED where the window's user has no app for it."""
    inverse = np.argsort(phi, axis=1).astype(np.int32)
    return np.where(inverse < app_counts[:, None], inverse, np.int32(UNUSED))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64's finaliser: neighbouring inputs come out unrelated."""
    x = x + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def seed_of(user: str, seed: int = 0) -> int:
    """What a person's phi is drawn from at inference: another user, or another seed, gets another phi."""
    digest = hashlib.sha256(f"{seed}/{user}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little")


def _order(vocabulary: int, seed: int) -> list[int]:
    """0..V-1, shuffled from the seed (Fisher and Yates) as the engine does it (engine/src/person/phi.cpp)."""
    count = np.arange(vocabulary, 1, -1, dtype=np.uint64)
    others = _mix(np.uint64(seed) ^ _mix(count)) % count
    order = list(range(vocabulary))
    for last, other in zip(range(vocabulary - 1, 0, -1), others.tolist(), strict=True):
        order[last], order[other] = order[other], order[last]
    return order


class OnlinePhi:
    """phi that grows: a new app takes a random free index, or, when all are taken, the least recently used app's."""

    def __init__(self, vocabulary: int, seed: int = 0) -> None:
        self._free = _order(vocabulary, seed)
        self._index: OrderedDict[str, int] = OrderedDict()  # least recently used first
        self._app: list[str | None] = [None] * vocabulary

    def __len__(self) -> int:
        return len(self._index)

    def use(self, app: str) -> tuple[int, str | None]:
        """The app's index, and the app that lost it just now (None in all but the 201st cases)."""
        if app in self._index:
            self._index.move_to_end(app)
            return self._index[app], None
        loser = None
        if self._free:
            index = self._free.pop()
        else:
            loser, index = self._index.popitem(last=False)
        self._index[app] = index
        self._app[index] = app
        return index, loser

    def forget(self, app: str) -> int:
        """Its index is free again, and the next to be taken."""
        index = self._index.pop(app)
        self._app[index] = None
        self._free.append(index)
        return index

    def get(self, app: str) -> int | None:
        return self._index.get(app)

    def invert(self, index: int) -> str | None:
        """The app behind a virtual index, None where phi has not used it."""
        return self._app[index]
