"""How often each rank came, person by person: all that a table of figures needs, and what adds up over parts.

Ranks themselves are as many as the launches of a fleet; tallies are as many as its people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stap.events import Longs
from stap.metrics import intervals_of, summary_of


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

    def report(self) -> dict[str, Any]:
        """The predictor's entry of the JSON, in percent: pooled, interval, kinds of position, and every user."""
        scored = np.flatnonzero(self.counts.any(axis=1)).tolist()
        return {
            "pooled": summary_of(self.counts.sum(axis=0)),
            "interval": intervals_of(self.counts),
            **{scope: None if counts is None else summary_of(counts) for scope, counts in self.scopes.items()},
            **self.extras,
            "users": {self.users[number]: summary_of(self.counts[number]) for number in scored},
        }
