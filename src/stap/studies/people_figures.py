"""What `stap study people` reports, from the ranks of all predictors at the same positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stap.errors import BadInput
from stap.events import NO_LABEL, Bools, Corpus, Floats, Ints, Longs
from stap.metrics import NAMES, Difference, by_user, calibration_error, intervals, paired, summary, tally_users
from stap.predictors import CLASSICAL

COLD = 100  # usages of each user: the cold start


@dataclass(frozen=True)
class Streamed:
    """Every predictor's ranks at the n positions after a close, user by user."""

    users: tuple[str, ...]
    user: Longs  # (n,) index into users
    usage: Longs  # (n,) its number in the person's history, from 0
    fresh: Bools  # (n,) the label is an app never seen before
    rank: Mapping[str, Ints]  # (n,) each
    top: Floats  # (n,) what STAP gave its first choice
    unseen: Floats  # (n,) what STAP left for apps never seen before

    @classmethod
    def over(cls, people: Sequence[Corpus], rank: Mapping[str, Ints], top: Floats, unseen: Floats) -> Streamed:
        """The positions of these people, in the order in which the protocol visits them."""
        histories = [(corpus, corpus.rows(user)) for corpus in people for user in range(len(corpus.users))]
        labelled = [np.flatnonzero(corpus.label[rows] != NO_LABEL) for corpus, rows in histories]
        fresh = [
            (corpus.label[rows] > np.maximum.accumulate(corpus.app[rows]))[usage]  # codes count by first use
            for (corpus, rows), usage in zip(histories, labelled, strict=True)
        ]
        return cls(
            users=tuple(user for corpus in people for user in corpus.users),
            user=np.repeat(np.arange(len(histories)), [len(usage) for usage in labelled]),
            usage=np.concatenate(labelled),
            fresh=np.concatenate(fresh),
            rank=rank,
            top=top,
            unseen=unseen,
        )


def figures(streamed: Streamed) -> dict[str, Any]:
    """The JSON of one group of people, in percent."""
    if not len(streamed.user):
        raise BadInput("log", "nothing to score: no held-out user has two usages", "use a longer log")
    rank, users = streamed.rank, everyone(_scores(streamed))
    return {
        "users": len(users),
        "pooled": _tested(streamed),
        f"first {COLD}": _tested(streamed, streamed.usage < COLD),
        "intervals": {name: intervals(ranks, streamed.user) for name, ranks in rank.items()},
        "worst user": min(users, key=lambda row: row["margin"]),
        "by user": users,
        "calibration": {
            "top-1": calibration(streamed.top, rank["stap"] == 1),
            "unseen": calibration(streamed.unseen, streamed.fresh),
        },
    }


def cold(streamed: Streamed) -> dict[str, Any]:
    """The same of stretches without a past: pooled only, since a stretch is no person to be fair to."""
    return {"stretches": len(streamed.users), "pooled": _table(streamed)}


def _table(streamed: Streamed, which: Bools | slice = slice(None)) -> dict[str, Any]:
    rows = {name: summary(rank[which]) for name, rank in streamed.rank.items()}
    first = np.stack([rank[which] == 1 for rank in streamed.rank.values()])
    return {
        "predictors": rows,
        "margins": {metric: _margin(rows, metric) for metric in NAMES},
        "oracle": {
            "seen before": 100 * float(np.mean(~streamed.fresh[which])),
            "HR@1 of the best first choice": 100 * float(first.any(axis=0).mean()),
        },
    }


def _tested(streamed: Streamed, which: Bools | slice = slice(None)) -> dict[str, Any]:
    """With the paired test of each margin: whether other people would have had the same winner."""
    table = _table(streamed, which)
    rank = {name: ranks[which] for name, ranks in streamed.rank.items()}
    rivals = {"over classical": {metric: row["best classical"] for metric, row in table["margins"].items()}}
    if "gbdt" in rank:
        rivals["over gbdt"] = dict.fromkeys(NAMES, "gbdt")
    return table | {"paired": {over: ahead(rank, streamed.user[which], names) for over, names in rivals.items()}}


def ahead(rank: Mapping[str, Ints], user: Longs, rival: Mapping[str, str | None]) -> dict[str, Difference]:
    """metric -> points by which STAP is ahead of that metric's rival, over users; empty for fewer than two."""
    users = int(user.max(initial=-1)) + 1
    own, found = tally_users(rank["stap"], user, users), {}
    for name in dict.fromkeys(each for each in rival.values() if each is not None):
        for metric, difference in paired(own, tally_users(rank[name], user, users)).items():
            if rival.get(metric) == name:
                found[metric] = difference
    return found


def _margin(rows: dict[str, dict[str, float]], metric: str) -> dict[str, Any]:
    """Points by which STAP is ahead."""
    best, own = _best_classical(rows, metric), rows["stap"][metric]
    margin = {"best classical": best, "over classical": None if best is None else own - rows[best][metric]}
    return margin | {"over gbdt": own - rows["gbdt"][metric]} if "gbdt" in rows else margin


def _best_classical(rows: dict[str, dict[str, float]], metric: str) -> str | None:
    """Of those who took part."""
    return max((name for name in CLASSICAL if name in rows), key=lambda name: rows[name][metric], default=None)


def _scores(streamed: Streamed) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {streamed.users[user]: row for user, row in by_user(rank, streamed.user).items()}
        for name, rank in streamed.rank.items()
    }


def everyone(scores: Mapping[str, Mapping[str, dict[str, float]]]) -> list[dict[str, Any]]:
    """From every predictor's figures of every user: HR@1, and STAP's lead over the user's own best classical one."""
    people = []
    for user in scores["stap"]:
        rows = {name: users[user] for name, users in scores.items()}
        margin = _margin(rows, "HR@1")
        people.append(
            {
                "user": user,
                "n": rows["stap"]["n"],
                "HR@1": {name: row["HR@1"] for name, row in rows.items()},
                "best classical": margin["best classical"],
                "margin": margin["over classical"],
            }
        )
    return people


def calibration(probability: Floats, came: Bools) -> dict[str, float]:
    return {
        "error": calibration_error(probability, came),
        "foretold": 100 * float(probability.mean()),
        "came": 100 * float(came.mean()),
    }
