"""Evidence by name: what is kept of every app and of the moment, and how much of it. No torch here.

The engine computes it (engine/src/person/evidence.cpp), reference/evidence.py says how in Python; both give the values
in the order of these names.
"""

from __future__ import annotations

USAGE_HALF_LIVES = (3.0, 8.0, 24.0, 70.0, 200.0)
MINUTE_HALF_LIVES = (5.0, 30.0, 180.0, 1440.0, 10080.0)
RANKS = 16  # of recency that are told apart; the last is "further back"
CANDIDATES = 64  # the likeliest by the blend, which the evidence head weighs; for the others the blend speaks alone
COMPARED = 24  # of these, the likeliest: what every candidate is compared with, in training and after

EXPERTS = ("fast", "slow", "order 1", "order 2", "order 3", "minutes", "day", "hour", "stay")
CUES = ("order 5", "skip", "session start", "two hours", "recent")
LAUNCH_CUES = ("pause", "waking")

STATISTICS = (  # of every app
    "blend",
    *EXPERTS,
    "share",
    *(f"last {half_life:g} usages" for half_life in USAGE_HALF_LIVES[1:-1]),
    *(f"last {MINUTE_HALF_LIVES[i]:g} minutes" for i in (1, 2, 4)),
    *CUES,
    *("idle minutes", "idle usages", "rank", "rank share", "rank share after", "overdue minutes", "overdue usages"),
    *("in session", "session starts", "count", "age", "stay length", "mean gap", "rare"),
    *LAUNCH_CUES,
    "again",
    *("last 12 launches", "last 150 launches", "waking share", "launch rank", "woke"),
)
MOMENT = (  # of now
    *("open", "gap", "stay", "sin hour", "cos hour", "usages", "apps", "session usages", "entropy", "confidence"),
    *("alternation", "fresh share", "session start", "current count", "surprise", "mean surprise"),
    *("fresh", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5", "rank 6-7", "rank 8-10", "rank 11-14", "rank 15+"),
    *("asked", "launching", "pause", "paused", "return", "returned", "since waking", "last pause"),
)


def counts(launches: bool) -> tuple[int, int]:
    """How many statistics and values of the moment a head reads; what launches added stands at the end of both."""
    if launches:
        return len(STATISTICS), len(MOMENT)
    return STATISTICS.index(LAUNCH_CUES[0]), MOMENT.index("asked")
