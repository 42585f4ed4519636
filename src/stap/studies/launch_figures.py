"""What `stap study launch` reports, from the ranks of all predictors at the same launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from stap.evaluate import LaunchRanks, report_launches
from stap.events import Bools, Corpus, Floats
from stap.metrics import NAMES
from stap.predictors.again import PAUSES
from stap.studies.people_figures import ahead, calibration, everyone

SCOPES = ("pooled", "pause", "at_once", "home", "resumed", "foreseen")
WATCHED = ("stap", "blend")  # whose probabilities are looked at
LENGTHS = (  # of a pause, in minutes
    f"<= {PAUSES[0]:g}",
    *(f"{low:g}-{high:g}" for low, high in pairwise(PAUSES)),
    f"> {PAUSES[-1]:g}",
)


@dataclass(frozen=True)
class Launched:
    """Every predictor's ranks at the same n launches, user by user."""

    ranks: Mapping[str, LaunchRanks]
    pause: Floats  # (n,) minutes since the close before
    fresh: Bools  # (n,) the app was never seen before
    held: Mapping[str, Floats]  # (n, 3) what those WATCHED held likely: first choice, the app used last, an unseen one

    @classmethod
    def over(
        cls, people: Sequence[Corpus], ranks: Mapping[str, Sequence[LaunchRanks]], held: Mapping[str, Floats]
    ) -> Launched:
        """The launches of these people, in the order in which the protocol visits them."""
        logs = [usages for corpus in people for usages in corpus.everybody()]
        return cls(
            ranks={name: _pool(parts) for name, parts in ranks.items()},
            pause=np.concatenate([log.start[1:] - log.end[:-1] for log in logs]),
            fresh=np.concatenate([log.app[1:] > np.maximum.accumulate(log.app)[:-1] for log in logs]),
            held=held,
        )


def _pool(parts: Sequence[LaunchRanks]) -> LaunchRanks:
    """Several groups' ranks as those of one."""
    before = accumulate([len(part.users) for part in parts], initial=0)
    moved = [replace(part, user=part.user + first) for part, first in zip(parts, before, strict=False)]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in moved])

    return LaunchRanks(
        users=tuple(user for part in parts for user in part.users),
        user=joined("user"),
        rank=joined("rank"),
        foreseen=joined("foreseen"),
        paused=joined("paused"),
        same=joined("same"),
        home=joined("home"),
        notifications=sum(part.notifications for part in parts),
    )


def figures(launched: Launched) -> dict[str, Any]:
    """The JSON of one group of people, in percent."""
    reports = {name: report_launches(ranks) for name, ranks in launched.ranks.items()}
    users = everyone({name: entry["users"] for name, entry in reports.items()})
    compared = [row for row in users if row["margin"] is not None]
    top, again, unseen = launched.held["stap"].T
    own = launched.ranks["stap"]
    return {
        "users": len(users),
        **{scope: _table({name: entry[scope] for name, entry in reports.items()}, launched, scope) for scope in SCOPES},
        "intervals": {name: entry["interval"] for name, entry in reports.items()},
        "worst user": min(compared, key=lambda row: row["margin"]) if compared else None,
        "by user": users,
        "calibration": {
            "top-1": calibration(top, own.rank == 1),
            "again": calibration(again, own.same),
            "unseen": calibration(unseen, launched.fresh),
        },
        "again": _curve(launched),
    }


def _table(rows: dict[str, Any], launched: Launched, scope: str) -> dict[str, Any] | None:
    """Everybody's figures, STAP's lead over the best of all others, and its test; None where the log cannot tell."""
    if rows["stap"] is None:
        return None
    lead = {metric: _lead(rows, metric) for metric in NAMES if metric in rows["stap"]}
    which = _which(launched.ranks["stap"], scope)
    rank = {name: (row.foreseen if scope == "foreseen" else row.rank)[which] for name, row in launched.ranks.items()}
    best = {metric: row["best"] for metric, row in lead.items()}
    return {"predictors": rows, "lead": lead, "paired": ahead(rank, launched.ranks["stap"].user[which], best)}


def _which(ranks: LaunchRanks, scope: str) -> Bools:
    """(n,) the launches of a kind; all of them where it is none."""
    kinds: dict[str, Bools] = {
        "pause": ranks.paused,
        "at_once": ~ranks.paused,
        "home": ranks.home == 1,
        "resumed": ranks.same & (ranks.home == 0),
    }
    return kinds.get(scope, np.ones(len(ranks.rank), bool))


def _lead(rows: dict[str, dict[str, float]], metric: str) -> dict[str, Any]:
    best = max((name for name in rows if name != "stap"), key=lambda name: rows[name][metric], default=None)
    return {"best": best, "points": None if best is None else rows["stap"][metric] - rows[best][metric]}


def _curve(launched: Launched) -> dict[str, Any]:
    """By length of pause: how often the app used last came again, and how likely it was held."""
    length = np.digitize(launched.pause, PAUSES, right=True)
    curve: dict[str, Any] = {}
    for number, name in enumerate(LENGTHS):
        here = length == number
        shares = {"came": launched.ranks["stap"].same} | {who: held[:, 1] for who, held in launched.held.items()}
        count = int(here.sum())
        means = {who: 100 * float(share[here].mean()) for who, share in shares.items()} if count else {}
        curve[name] = {"n": count, **means}
    return curve
