"""What a predictor is. Real app names in, real app names out; what happens in between is its own affair."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

Ranking = list[tuple[str, float]]  # best first, strictly ordered: a predictor breaks its own ties


class Event(NamedTuple):
    """(A, C, T, H) of the paper, with the app's real name."""

    app: str
    action: int  # 1 open, 0 close
    minutes: float  # on the user's wall clock
    hour: float  # [0, 24)


class Predictor(Protocol):
    """Observe every event in time order; after any of them, rank the apps the person will open next.

    `observe` costs the same however long the history is. Only apps observed before can be ranked.
    """

    def observe(self, event: Event) -> None: ...

    def rank(self, k: int) -> Ranking:
        """At most k apps with their probabilities, best first."""
        ...


@runtime_checkable
class ForeseesUnseen(Protocol):
    """A predictor that leaves a share for what it cannot rank."""

    def unseen(self) -> float:
        """How likely an app never observed comes next."""
        ...
