"""One person's log as three arrays, and the tidying that makes any such arrays a valid, merged log again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stap.events import Bools, Floats, Ints, by_first_use


class Log(NamedTuple):
    """What one user owns of a Corpus: codes in order of first use, minutes since 1970, neighbours differ."""

    app: Ints  # (usages,)
    start: Floats  # (usages,)
    end: Floats  # (usages,)

    def take(self, rows: slice | Bools) -> Log:
        return Log(self.app[rows], self.start[rows], self.end[rows])


def tidy(log: Log) -> Log:
    """Sort by start, join neighbours of the same app, clip ends to the next start, number the apps by first use."""
    if not len(log.app):
        return log
    if np.any(log.start[1:] < log.start[:-1]):
        order = np.argsort(log.start, kind="stable")
        log = Log(log.app[order], log.start[order], log.end[order])
    first = np.flatnonzero(np.concatenate([[True], log.app[1:] != log.app[:-1]]))
    app, start, end = log.app[first], log.start[first], np.maximum.reduceat(log.end, first)
    end[:-1] = np.minimum(end[:-1], start[1:])
    return Log(by_first_use(app)[1], start, np.maximum(end, start))
