"""Who trains and who is held out, by user: the same people for the model and for its rival.

`stap train` deals out in the same way, but only those who have at most V apps.
"""

from __future__ import annotations

import re

import numpy as np

from stap.errors import BadInput
from stap.events import Corpus
from stap.windows import split_users


def parse(fold: str) -> tuple[int, int]:
    """ "2/5" -> (2, 5)"""
    found = re.fullmatch(r"(\d{1,3})/(\d{1,3})", fold)
    if not found or not 1 <= int(found[1]) <= int(found[2]) or int(found[2]) < 2:
        raise BadInput("--fold", f"{fold!r} is no fold", "write 1/5 to 5/5 for the fifths")
    return int(found[1]), int(found[2])


def hold_out(corpus: Corpus, fold: str, seed: int = 0, always: str = "") -> tuple[Corpus, Corpus]:
    """(training, held out); without a fold everybody trains. `always`: users, comma-separated, never held out."""
    everybody = np.arange(len(corpus.users))
    trains = {name for name in always.split(",") if name}
    if missing := sorted(trains - set(corpus.users)):
        some = ", ".join(corpus.users[:5])
        raise BadInput("--always", f"no user {missing[0]!r} in the log", f"its users are {some}, ...")
    if not fold:
        return corpus, corpus.select(everybody[:0])
    number, parts = parse(fold)
    others = np.array([n for n, name in enumerate(corpus.users) if name not in trains], np.int64)
    if parts > len(others):
        raise BadInput("--fold", f"{parts} folds of {len(others)} users", "give more logs, or fewer folds")
    out = others[split_users(len(others), [1] * parts, seed)[number - 1]]
    return corpus.select(np.setdiff1d(everybody, out)), corpus.select(np.sort(out))
