"""Why an app stands where it does in a ranking: reasons as data, and each as a plain sentence.

The engine finds them (engine/src/person/why.cpp), and reference/why.py says how in Python. Its counts fade, so what
they tell of many times is told as "about".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["again", "after pause", "before", "hour", "recent", "lately", "often", "waking", "notified"]

# In the order of engine/include/stap.h, which says what the numbers of each mean.
KINDS: tuple[Kind, ...] = ("again", "after pause", "before", "hour", "recent", "lately", "often", "waking", "notified")
EXACT = 12  # so many times a fading count tells to the last one
MOST_TOLD = 50  # it speaks of no more
NOTHING = "nothing special speaks for it"


@dataclass(frozen=True)
class Reason:
    """One of the things that speak for an app."""

    kind: Kind
    strength: float  # by how much it raises the app's score: nats, so 0.7 doubles the odds
    count: int = 0
    of: int = 0
    hour: int | None = None
    app: str | None = None  # another one

    @property
    def sentence(self) -> str:
        match self.kind:
            case "again":
                return f"opened again {self._times} times" if self.of else "the app used last"
            case "after pause":
                return f"opened again after {self._times} pauses like this"
            case "before":
                return f"came after {self.app} {self._times} times"
            case "hour":
                return f"usual at {_hour(self.hour or 0)}"
            case "recent":
                return f"opened {_ago(self.count)}"
            case "lately":
                return f"opened {'twice' if self.count == 2 else f'{self.count} times'} in the last {_span(self.of)}"
            case "often":
                return "the most used app" if self.count == 1 else f"the {_ordinal(self.count)} most used app"
            case "waking":
                return f"the first app after {self._times} pauses"
            case "notified":
                return f"notified {_ago(self.count)}"

    @property
    def _times(self) -> str:
        """7 of 9; about 12 of 20; about 30 of the last 50."""
        about, last = "about " if self.of > EXACT else "", "the last " if self.of >= MOST_TOLD else ""
        return f"{about}{self.count} of {last}{self.of}"


def sentence(reasons: Sequence[Reason]) -> str:
    """All of them, the strongest first."""
    return "; ".join(reason.sentence for reason in reasons) or NOTHING


def _hour(hour: int) -> str:
    if hour in (0, 12):
        return "noon" if hour else "midnight"
    part = "at night" if hour < 5 or hour > 21 else "in the morning" if hour < 12 else "in the evening"
    return f"{hour % 12} {'in the afternoon' if 12 < hour < 18 else part}"


def _ago(minutes: int) -> str:
    if not minutes:
        return "less than a minute ago"
    amount, unit = (minutes, "minute") if minutes < 60 else (minutes // 60, "hour")
    return f"{amount} {unit}{'s' if amount > 1 else ''} ago"


def _span(hours: int) -> str:
    return "day" if hours == 24 else "hour" if hours == 1 else f"{hours} hours"


def _ordinal(number: int) -> str:
    words = {2: "second", 3: "third"}
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return words.get(number, f"{number}{ending}")
