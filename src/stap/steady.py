"""A row of apps that adapts and yet stands still: who belongs in it changes, the order of those who stay does not.

`stap_steady` in engine/include/stap.h is the same for a launcher in C.
"""

from __future__ import annotations

from collections.abc import Sequence

from stap.events import Ranking


def steady(shown: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted apps, best first, as a row: those shown keep their slots, newcomers take the others, best first.

    In a row that has become shorter, those who stay move left as far as they have to, in their order.
    """
    newcomers = iter([app for app in wanted if app not in shown])
    row: list[str | None] = [None] * len(wanted)
    free = len(wanted)  # slots to the left of those who have theirs
    for slot, app in reversed(list(enumerate(shown))):
        if app in wanted and app not in shown[:slot]:
            free = min(slot, free - 1)
            row[free] = app
    return [next(newcomers) if app is None else app for app in row]


def wanted(ranking: Ranking, k: int, shown: Sequence[str] = (), margin: float = 1.0) -> list[str]:
    """The k likeliest, best first; who is shown goes only for somebody likelier by a factor of more than `margin`."""
    held = set(shown)
    return [app for app, _ in sorted(ranking, key=lambda each: -each[1] * (margin if each[0] in held else 1.0))][:k]
