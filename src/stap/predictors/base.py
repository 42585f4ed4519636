"""What a predictor is. Real app names in, real app names out; what happens in between is its own affair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from stap.events import Event, Moment, Ranking
from stap.notices import Notice
from stap.why import Reason


class Predictor(Protocol):
    """Observe every event in time order; after any of them, rank the apps the person will open next.

    `observe` costs the same however long the history is. Only apps observed before can be ranked, and a ranking is
    strictly ordered: a predictor breaks its own ties.
    """

    def observe(self, event: Event) -> None: ...

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        """At most k apps with their probabilities, best first: of the next *other* app than the current one.

        Asked at a moment, of the next launch, which comes then, or WHENEVER: the current app may come again.
        Asking changes nothing.
        """
        ...


Maker = Callable[[], Predictor]  # a fresh predictor for one person


@runtime_checkable
class Personal(Protocol):
    """A maker whose predictors depend on whose they are: STAP draws phi from the user."""

    def of(self, user: str) -> Predictor: ...


def fresh(make: Maker, user: str) -> Predictor:
    """A predictor for this very user."""
    return make.of(user) if isinstance(make, Personal) else make()


@runtime_checkable
class Trained(Protocol):
    """A maker whose predictors were trained."""

    @property
    def sizes(self) -> tuple[int, int]:
        """V and L: with so many virtual indices, in windows of so many events."""
        ...


@runtime_checkable
class KnowsApps(Protocol):
    """A maker whose predictors rank apps of a fixed vocabulary alone: any other answer is a miss."""

    @property
    def apps(self) -> tuple[str, ...]: ...


@runtime_checkable
class TakesNotices(Protocol):
    """A predictor that knows what to make of notifications; they come in the order of time, between the events."""

    def notified(self, notice: Notice) -> None: ...


@runtime_checkable
class ForeseesUnseen(Protocol):
    """A predictor that leaves a share for what it cannot rank."""

    def unseen(self, at: Moment | None = None) -> float:
        """How likely an app never observed comes next; asked at a moment, how likely it is launched then."""
        ...


@runtime_checkable
class SaysWhy(Protocol):
    """A predictor that gives reasons."""

    def why(self, app: str, at: Moment | None = None, k: int = 3) -> list[Reason]:
        """The strongest ones for the app's place in what `rank` answers."""
        ...
