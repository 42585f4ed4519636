"""What the evidence remembers of one app, and what it says depending on when it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from stap.events import Floats
from stap.evidence import MINUTE_HALF_LIVES, USAGE_HALF_LIVES


@dataclass
class App:
    """What is remembered of one app."""

    count: int = 0
    first_usage: int = 0
    last_usage: int = 0
    opened: float = 0.0  # minutes of its last open
    clock: float = 0.0  # of its last open
    by_usage: list[float] = field(default_factory=lambda: [0.0] * len(USAGE_HALF_LIVES))  # as of its last open
    by_minute: list[float] = field(default_factory=lambda: [0.0] * len(MINUTE_HALF_LIVES))
    session: int = 0
    in_session: int = 0
    starts: int = 0  # sessions it began
    log_minutes: float = 0.0  # sum of the logarithms of its stays
    log_gap_minutes: float = 0.0  # sums over its returns
    log_gap_usages: float = 0.0


class Outlook(NamedTuple):
    """What depends on when it is asked."""

    probability: Floats  # (apps,) the blend's
    experts: Floats  # (experts, apps) the blend's
    hour: float
    seen: float  # minutes up to which nothing is missed
    again: float  # log odds that the current app comes again; 0 where it cannot
