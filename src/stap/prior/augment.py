"""New people from real ones: what could have been logged of somebody like this. Usages and chance in, valid usages out.

Only codes, times and the choice of usages change; neighbours that became one app are one launch where they lie
within a minute.
"""

from __future__ import annotations

import numpy as np

from stap.events import AT_ONCE, DAY, Ints, Longs, Usages, tidy
from stap.prior.person import Random

KEEP_SHARE = (0.25, 1.0)  # of the usages, when they are cropped
PACE = 1.6  # a life may be so many times slower or faster
SHIFT = 180.0  # minutes that the day may be moved
DROPPED = 0.3  # at most this share of the apps vanishes
MERGED = 0.3  # at most this share of the apps falls together with another
INTERRUPTED = 0.5  # at most this share of the usages is interrupted ...
AGAIN = 0.5  # ... and once more with at most this chance, each time
MOST_INTERRUPTIONS = 6  # of one usage
NOTIFIERS = 5  # apps at most that come up by themselves
LATEST = 20.0  # or else it is one of the latest apps, on average at most so many usages back
SPLICE_DAYS = 14.0  # two people take turns in stretches of about this length


def crop(usages: Usages, rng: Random) -> Usages:
    """A contiguous part: somebody who began to log later and stopped earlier."""
    count = len(usages.app)
    kept = max(1, round(count * rng.uniform(*KEEP_SHARE)))
    first = int(rng.integers(0, count - kept + 1))
    return tidy(usages.take(slice(first, first + kept)), AT_ONCE)


def warp_time(usages: Usages, rng: Random) -> Usages:
    """A slower or faster hand, and a day that begins earlier or later.

    Only what lies between two pauses of an hour or more changes its pace; the pauses give or take what that adds, so
    the hours of the day and the weekdays keep their meaning.
    """
    pace = PACE ** rng.uniform(-1, 1)
    shift = rng.uniform(-SHIFT, SHIFT)
    point = np.stack([usages.start, usages.end], axis=1).ravel()
    step = np.diff(point)
    long = np.concatenate([[True], step >= 60.0])
    anchor = np.maximum.accumulate(np.where(long, np.arange(len(point)), 0))
    moved = point[anchor] + (point - point[anchor]) * pace + shift
    moved = np.maximum.accumulate(moved)
    return tidy(Usages(usages.app, moved[0::2], moved[1::2]), AT_ONCE)


def drop_apps(usages: Usages, rng: Random) -> Usages:
    """Some apps were never installed. At least two remain where there were two."""
    apps = int(usages.app.max()) + 1
    gone = rng.permutation(apps)[: min(int(rng.uniform(0, DROPPED) * apps), max(0, apps - 2))]
    return tidy(usages.take(~np.isin(usages.app, gone)), AT_ONCE)


def merge_apps(usages: Usages, rng: Random) -> Usages:
    """Some apps do the work of two. At least two remain where there were two."""
    apps = int(usages.app.max()) + 1
    order = rng.permutation(apps).astype(np.int32)
    pairs = min(int(rng.uniform(0, MERGED) * apps), apps // 2, max(0, apps - 2))
    code = np.arange(apps, dtype=np.int32)
    code[order[:pairs]] = order[apps - pairs :]
    return tidy(Usages(code[usages.app], usages.start, usages.end), AT_ONCE)


def interrupt(usages: Usages, rng: Random) -> Usages:
    """Other apps come up in the middle of a usage and go again: what was app is now app, other, app.

    Phones that log what is in front are full of this (a message, a call, a look at the browser), older loggers hid it.
    A usage of no length may be hit too: its logger's clock was too coarse to tell.
    """
    count = len(usages.app)
    hit = np.flatnonzero(rng.random(count) < rng.uniform(0, INTERRUPTED))
    other = usages.app.copy()
    other[hit] = _interrupters(usages, hit, rng)
    times = np.zeros(count, np.int64)
    times[hit] = rng.geometric(1.0 - rng.uniform(0, AGAIN), len(hit)).clip(max=MOST_INTERRUPTIONS)
    pieces = 1 + 2 * times
    row = np.repeat(np.arange(count), pieces)
    place = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    cut = np.where(place > 0, rng.random(len(row)), 0.0)
    cut = cut[np.lexsort((cut, row))]
    start = usages.start[row] + cut * (usages.end - usages.start)[row]
    end = np.append(start[1:], 0.0)
    end[place == pieces[row] - 1] = usages.end
    return tidy(Usages(np.where(place % 2, other[row], usages.app[row]), start, end), AT_ONCE)


def _interrupters(usages: Usages, hit: Longs, rng: Random) -> Ints:
    """For each of these usages: one of a few apps that notify, or one of the latest."""
    popularity = np.bincount(usages.app) ** rng.uniform(0, 1)
    few = min(int(rng.integers(1, NOTIFIERS + 1)), len(popularity))
    notifiers = rng.choice(len(popularity), few, replace=False, p=popularity / popularity.sum())
    lag = 1 + rng.exponential(rng.uniform(1, LATEST), len(hit)).astype(np.int64)
    notified = rng.random(len(hit)) < rng.random()
    chosen = np.where(notified, notifiers[rng.integers(few, size=len(hit))], usages.app[np.maximum(hit - lag, 0)])
    return chosen.astype(np.int32)


def splice(usages: Usages, other: Usages, rng: Random) -> Usages:
    """Two people's lives in turns, each with apps of its own but for some that they share: tastes that change.

    The other's usages are moved by whole weeks to begin at the same time, so hours and weekdays keep their meaning.
    """
    weeks = 7 * DAY * np.round((usages.start[0] - other.start[0]) / (7 * DAY))
    apps, others = int(usages.app.max()) + 1, int(other.app.max()) + 1
    shared = rng.random(others) < rng.random()
    code = np.where(shared, rng.permutation(max(apps, others))[:others] % apps, apps + np.arange(others))
    begin = usages.start[0] + rng.exponential(SPLICE_DAYS * DAY)
    turn = max(DAY, rng.exponential(SPLICE_DAYS * DAY))
    mine = ((usages.start - begin) // turn) % 2 != 0
    theirs = ((other.start + weeks - begin) // turn) % 2 == 0
    turns = other.take(theirs)
    moved = Usages(code[turns.app].astype(np.int32), turns.start + weeks, turns.end + weeks)
    both = usages.take(mine).together(moved)
    return tidy(both if len(both.app) else usages, AT_ONCE)
