"""What followed each cue: fading successor counts in bounded memory, every update in constant time.

A cue is what held when an app was opened: the latest apps, how long the last one stayed, the hour.
"""

from __future__ import annotations

from collections.abc import Callable

from stap.events import Floats

Cue = tuple[int, ...]

FADE = 0.98  # what is left of a successor's count after another visit to its cue
GENERATION = 1 << 14  # cues in a generation
SUCCESSORS = 256  # more than these, and a cue forgets the fainter half
_HUGE = 1e100


class Successors:
    """Fading counts of what followed one cue.

    Instead of fading every count, a newer visit weighs more: only the ratio to `unit`, one visit now, has a meaning.
    """

    __slots__ = ("total", "unit", "weights")

    def __init__(self) -> None:
        self.weights: dict[int, float] = {}
        self.unit = 1.0
        self.total = 0.0

    def add(self, code: int, fade: float) -> None:
        self.unit /= fade
        self.weights[code] = self.weights.get(code, 0.0) + self.unit
        self.total += self.unit
        if len(self.weights) > SUCCESSORS or self.unit > _HUGE:
            self._shrink()

    def forget(self, code: int) -> None:
        if code in self.weights:
            del self.weights[code]
            self.total = sum(self.weights.values())
        self.weights = {app - (app > code): weight for app, weight in self.weights.items()}

    def _shrink(self) -> None:
        kept = sorted(self.weights.items(), key=lambda item: -item[1])
        if len(kept) > SUCCESSORS:
            kept = kept[: SUCCESSORS // 2]
        self.weights = {code: weight / self.unit for code, weight in kept}
        self.total = sum(self.weights.values())
        self.unit = 1.0


class Cues:
    """The cues in use, in two generations: a cue that comes up moves to the young one; when that is full, the
    old one is forgotten whole and the young one takes its place. So at most 2 * GENERATION cues are held, the least
    recently used go first, and no update ever walks over the others.
    """

    def __init__(self, fade: float = FADE) -> None:
        self._fade = fade
        self._young: dict[Cue, Successors] = {}
        self._old: dict[Cue, Successors] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def add(self, cue: Cue, code: int) -> None:
        successors = self._young.get(cue)
        if successors is None:
            if len(self._young) >= GENERATION:
                self._young, self._old = {}, self._young
            successors = self._young[cue] = self._old.pop(cue) if cue in self._old else Successors()
        successors.add(code, self._fade)

    def forget(self, code: int, apps_in: Callable[[Cue], slice]) -> None:
        """As a successor and in cues, `apps_in` which it is told where codes stand; those behind move up."""
        for generation in (self._young, self._old):
            kept = dict[Cue, Successors]()
            for cue, successors in generation.items():
                apps = cue[apps_in(cue)]
                successors.forget(code)
                if code not in apps and successors.weights:
                    at = apps_in(cue).start or 0
                    kept[(*cue[:at], *(app - (app > code) for app in apps), *cue[at + len(apps) :])] = successors
            generation.clear()
            generation.update(kept)

    def find(self, cue: Cue) -> Successors | None:
        return self._young.get(cue) or self._old.get(cue)

    def sharpen(self, prior: Floats, cue: Cue) -> Floats:
        """The prior's shares, corrected by what followed this cue; the more varied that is, the more prior is left.

        This is PPM's escape: as many virtual visits go to the prior as there are different successors.
        """
        followers = self.find(cue)
        if followers is None:
            return prior
        escape = len(followers.weights) * followers.unit
        share: Floats = prior * escape
        share[list(followers.weights)] += list(followers.weights.values())
        share /= escape + followers.total
        return share
