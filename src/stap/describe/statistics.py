"""What sets people apart: some forty figures of one log, the same for a real person and an invented one.

Three kinds: how much and when (usages a day, durations, gaps, sessions, hours), how varied (entropies, first-ever apps,
drift), and how predictable (repeat distances, the hit rates of the classical predictors and the distances between them:
these say which kind of structure there is to learn).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stap import evaluate
from stap.events import DAY, Bools, Corpus, Floats, Ints, Longs
from stap.metrics import MISS, by_user
from stap.predictors import make
from stap.terminal import Tick

Portrait = dict[str, float]

PREDICTORS = ("mfu", "previous", "markov", "ppm", "blend")
DISTANCES = (("blend", "previous"), ("previous", "mfu"), ("markov", "previous"), ("ppm", "markov"), ("blend", "ppm"))
SESSION_GAP = 5.0  # minutes without an app that part two sessions
REPEATS = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4-6": (4, 6), "7-12": (7, 12), "13+": (13, MISS - 1)}


def portraits(corpus: Corpus, progress: Tick) -> dict[str, Floats]:
    """Each statistic as (users,), in percent where it is a share; NaN where a log is too short to tell."""
    people = [_looks(corpus, user) | _amounts(corpus, user) for user in range(len(corpus.users))]
    for name in PREDICTORS:
        ranks = evaluate.stream(corpus, partial(make, name), progress)
        scores = by_user(ranks.rank[~ranks.opened], ranks.user[~ranks.opened])
        for user, portrait in enumerate(people):
            portrait |= {f"HR@{k} {name}": scores.get(user, {}).get(f"HR@{k}", np.nan) for k in (1, 5)}
    for portrait in people:
        for better, worse in DISTANCES:
            portrait[f"{better} - {worse}"] = portrait[f"HR@1 {better}"] - portrait[f"HR@1 {worse}"]
    return {name: np.array([portrait[name] for portrait in people]) for name in people[0]}


def _amounts(corpus: Corpus, user: int) -> Portrait:
    """How much, how long, when."""
    _, start, end, _ = corpus.usages(user)
    seconds, gap = 60.0 * (end - start), start[1:] - end[:-1]
    first = np.concatenate([[True], gap > SESSION_GAP])
    lengths = np.diff(np.flatnonzero(np.concatenate([first, [True]])))
    angle = start * (2 * np.pi / DAY)
    return {
        "usages a day": len(start) / max(1.0, (end[-1] - start[0]) / DAY),
        "seconds, 10 %": _quantile(seconds, 0.1),
        "seconds, median": _quantile(seconds, 0.5),
        "seconds, 90 %": _quantile(seconds, 0.9),
        "gap in a session, s": _quantile(60.0 * gap[~first[1:]], 0.5),
        "gap between, minutes": _quantile(gap[first[1:]], 0.5),
        "gap between, 90 %": _quantile(gap[first[1:]], 0.9),
        "session length, mean": float(lengths.mean()),
        "session length, 90 %": _quantile(lengths.astype(float), 0.9),
        "single-usage sessions": 100.0 * float((lengths == 1).mean()),
        "hour concentration": float(np.abs(np.exp(1j * angle).mean())),
        "used from 1 to 6 h": 100.0 * float(((start % DAY >= 60) & (start % DAY < 360)).mean()),
    }


def _looks(corpus: Corpus, user: int) -> Portrait:
    """How varied, and how the next app depends on the latest ones, on the duration and on the session."""
    (app, start, end, _), apps = corpus.usages(user), len(corpus.apps[user])
    half = len(app) // 2
    distance = repeat_distance(app)[1:]
    back = distance == 1
    seconds, gap = end - start, start[1:] - end[:-1]
    glance = seconds[:-1] <= np.median(seconds)
    halves = [np.bincount(part, minlength=apps) / max(1, len(part)) for part in (app[:half], app[half:])]
    pairs = np.unique(app[:-1].astype(np.int64) * apps + app[1:], return_counts=True)[1]
    return {
        "usages": float(len(app)),
        "distinct apps": float(apps),
        "first-ever apps": 100.0 * apps / len(app),
        "first-ever, 2nd half": 100.0 * (apps - 1 - int(app[:half].max(initial=-1))) / apps,
        "entropy of apps": _entropy(np.bincount(app)),
        "entropy given the app": _entropy(pairs) - _entropy(np.bincount(app[:-1])),
        "drift between halves": _entropy(halves[0] + halves[1]) - (_entropy(halves[0]) + _entropy(halves[1])) / 2,
        **{
            f"repeat at {name}": 100.0 * _share((low <= distance) & (distance <= high))
            for name, (low, high) in REPEATS.items()
        },
        "back to back": 100.0 * _share(back[1:][back[:-1]]),
        "return after a glance": 100.0 * (_share(back[glance]) - _share(back[~glance])),
        "return in a session": 100.0 * (_share(back[gap <= SESSION_GAP]) - _share(back[gap > SESSION_GAP])),
        "hour information": hour_information(app, start),
    }


def repeat_distance(app: Ints) -> Longs:
    """(usages,) how many other apps have come since the app's last use; MISS for a first-ever app."""
    latest: list[int] = []
    distance = np.full(len(app), MISS, np.int64)
    seen: set[int] = set()
    for row, code in enumerate(app.tolist()):
        if code in seen:
            distance[row] = place = latest.index(code)
            del latest[place]
        seen.add(code)
        latest.insert(0, code)
    return distance


def hour_information(app: Ints, start: Floats) -> float:
    """Bits that a four-hour block of the day tells about the app, less what chance would (Miller and Madow)."""
    block = (start % DAY // 240).astype(np.int64)
    cells = np.unique(block * (int(app.max()) + 1) + app, return_counts=True)[1]
    blocks, apps = np.unique(block, return_counts=True)[1], np.bincount(app)
    chance: float = (len(cells) - len(blocks) - len(apps) + 1) / (2 * np.log(2) * len(app))
    return float(_entropy(apps) + _entropy(blocks) - _entropy(cells) - chance)


def _entropy(counts: Floats | Longs) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log2(share)).sum())


def _share(what: Bools) -> float:
    return float(what.mean()) if len(what) else np.nan


def _quantile(values: Floats, q: float) -> float:
    return float(np.quantile(values, q)) if len(values) else np.nan
