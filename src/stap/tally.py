"""How often each rank came, person by person: all that a table of figures needs, and what adds up over parts.

Ranks themselves are as many as the launches of a fleet; tallies are as many as its people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stap.events import NO_LABEL, Corpus, Longs
from stap.metrics import intervals_of, summary_of

OUTSIDE = "outside"  # answers beyond a fixed vocabulary: misses; where they are most, there is nothing to compare
NOT_APPLICABLE = "n/a"


@dataclass(frozen=True)
class Tally:
    """Of one predictor. A tally of ranks is (DEEPEST + 1,): see `metrics.tally`."""

    users: tuple[str, ...]
    counts: Longs  # (users, DEEPEST + 1) at the positions that count
    scopes: Mapping[str, Longs | None]  # a tally of everybody for each kind of position; None: the log cannot tell
    extras: Mapping[str, int] = field(default_factory=dict)  # what else was counted

    @classmethod
    def joined(cls, parts: Sequence[Tally]) -> Tally:
        """Of all people of these parts, in their order."""
        told = {scope: [part.scopes[scope] for part in parts] for scope in parts[0].scopes}
        known = {scope: [each for each in row if each is not None] for scope, row in told.items()}
        return cls(
            tuple(user for part in parts for user in part.users),
            np.concatenate([part.counts for part in parts]),
            {scope: np.sum(row, axis=0) if row else None for scope, row in known.items()},
            {name: sum(part.extras[name] for part in parts) for name in parts[0].extras},
        )

    def __len__(self) -> int:
        """Positions that count."""
        return int(self.counts.sum())

    def beside(self, corpus: Corpus, apps: Sequence[str]) -> Tally:
        """With the number of these people's positions whose answer is none of these apps."""
        known, missed, labels = set(apps), 0, 0
        for user, names in enumerate(corpus.apps):
            label = corpus.label[corpus.rows(user)]
            unknown = np.array([name not in known for name in names], bool)
            missed += int(unknown[label[label != NO_LABEL]].sum())
            labels += int((label != NO_LABEL).sum())
        times = len(self) // max(1, labels)  # a usage is scored once or twice
        return replace(self, extras={**self.extras, OUTSIDE: times * missed})

    def report(self) -> dict[str, Any]:
        """The predictor's entry of the JSON, in percent: pooled, interval, kinds of position, and every user."""
        if 2 * (missed := self.extras.get(OUTSIDE, 0)) > len(self):
            why = f"{missed:,} of {len(self):,} answers are not in its fixed vocabulary, which is another data set's"
            nothing = dict.fromkeys(self.scopes, summary_of(np.zeros_like(self.counts[0])))
            empty = {"pooled": {"n": 0}, "interval": {}, **nothing, "users": {}}
            return {NOT_APPLICABLE: why, **empty, **self.extras}
        scored = np.flatnonzero(self.counts.any(axis=1)).tolist()
        return {
            "pooled": summary_of(self.counts.sum(axis=0)),
            "interval": intervals_of(self.counts),
            **{scope: None if counts is None else summary_of(counts) for scope, counts in self.scopes.items()},
            **self.extras,
            "users": {self.users[number]: summary_of(self.counts[number]) for number in scored},
        }
