"""ISWI, interleaved semi-window inference: which of two caches receives, predicts and clears at every step.

A cache that is cleared when full forgets everything at once. Two caches, half a window apart, take turns: while one
predicts, the other gathers the context it will predict from. From stage 1 on at least h = L/2 events stand behind every
prediction, and both together never hold more than L + h. This is the reference that the engine is held to.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """What happens when an event comes in, in this order."""

    receives: tuple[int, ...]  # these caches take the event
    predicts: int  # then this one answers
    clears: int | None  # and then, before the next event, this one forgets everything


def plan(step: int, half: int) -> Step:
    """Step 0, 1, 2, ... of a stream of events, with h = half: stage i is steps i*h to (i+1)*h - 1."""
    stage = step // half
    if stage == 0:
        return Step((0,), 0, None)
    active = 0 if stage % 2 else 1
    last = (step + 1) % half == 0
    return Step((0, 1), active, active if last else None)
