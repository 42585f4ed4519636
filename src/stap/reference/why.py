"""Why an app stands where it does in a ranking: how much each group of statistics raised its score, and a fact of it.

Notable:
- statistics are taken in groups that mean something to a person; of the app used last, all that says how recent it is
  speaks of coming again
- a group's strength is the score lost when it says of the app what it says of the candidates on average, while
  everything else stays; in nats, after the last word
- the blend's log probability is a sum over its experts, so a group takes its experts' part of it along
- a group is a reason only where there is a fact to tell, and one that sounds like a reason

The engine does the same, in why.cpp.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import torch
from numpy.typing import NDArray

from stap.events import AT_ONCE, OPEN, WHENEVER, Event, Floats, Moment
from stap.evidence import CANDIDATES, EXPERTS, RANKS, STATISTICS
from stap.model.transformer import Transformer
from stap.predictors.again import OWN_FADE, length_of
from stap.predictors.cues import FADE
from stap.predictors.mixer import PLACES
from stap.reference.evidence import Evidence
from stap.reference.session import Stap
from stap.why import MOST_TOLD, Kind, Reason

LEAST_STRENGTH = 0.1  # nats: what moved a score less is no reason
LEAST_TIMES, ONE_IN_RETURNS, ONE_IN_TIMES = 2, 5, 10  # told are at least so many times, and one in so many
RECENT_MINUTES = 180.0  # at most
MOST_USED = 10  # how far down the list of the most used apps
USUAL_COUNT, USUAL_LIFT = 3, 1.25  # usages before an hour is usual, and times as often as on average over the day
SPANS = (24, 12, 6, 3, 1)  # hours: the longest that the latest events reach back

MEANING: dict[Kind, tuple[str, ...]] = {
    "again": ("again",),
    "before": (
        "order 1",
        "order 2",
        "order 3",
        "stay",
        "order 5",
        "skip",
        "session start",
        "two hours",
        "recent",
        "pause",
    ),
    "hour": ("hour",),
    "recent": (
        *("fast", "minutes", "idle minutes", "idle usages", "rank", "rank share", "rank share after"),
        *("overdue minutes", "overdue usages", "launch rank"),
    ),
    "lately": (
        *("day", "last 8 usages", "last 24 usages", "last 70 usages", "last 30 minutes", "last 180 minutes"),
        *("in session", "last 12 launches"),
    ),
    "often": ("slow", "share", "last 10080 minutes", "count", "age", "mean gap", "rare", "last 150 launches"),
    "waking": ("session starts", "waking", "waking share", "woke"),
}


class TellingStap(Stap):
    """Stap that says why, and remembers the latest events for it."""

    def __init__(self, model: Transformer, seed: int = 0) -> None:
        super().__init__(model, seed)
        self._latest: deque[Event] = deque(maxlen=model.config.context)

    def observe(self, event: Event) -> None:
        steps = self._steps
        super().observe(event)
        if self._steps > steps:
            self._latest.append(event)

    def forget(self, app: str) -> None:
        super().forget(app)
        self._latest = deque((e._replace(app="") if e.app == app else e for e in self._latest), self._latest.maxlen)

    def why(self, app: str, at: Moment | None = None, k: int = 3) -> list[Reason]:
        evidence = self._evidence
        if evidence is None:
            return []
        code = evidence.names.index(app)
        if at is None and code == evidence.current:
            return []
        strength = self._strength(evidence, code, at)
        found = [self._told(evidence, code, at, kind, strength[kind]) for kind in MEANING]
        found.append(self._notified(evidence, code, at))
        reasons = [reason for reason in found if reason is not None and reason.strength >= LEAST_STRENGTH]
        return sorted(reasons, key=lambda reason: -reason.strength)[:k]

    def _strength(self, evidence: Evidence, code: int, at: Moment | None) -> dict[Kind, float]:
        current = code == evidence.current
        fusion, seen = self._model.evidence, None  # which head answers, and as of when it sees the evidence
        if at is not None and (current or self._model.launch is not None):
            fusion, seen = self._model.launch, at
        probability = evidence.probability() if seen is None else evidence.launch(seen)
        order = np.argsort(-probability, kind="stable").tolist()
        if seen is None:
            order.remove(evidence.current)
        everybody = evidence.statistics(seen).astype(np.float32)
        row, mean = everybody[code], everybody[order[:CANDIDATES]].mean(axis=0, dtype=np.float64).astype(np.float32)
        rank = evidence.recency(code)
        believed, bias = np.array([1.0, 0.0]), 0.0
        if at is not None:
            believed = self._word.weights
            bias = self._word.biases[int(evidence.paused(at)), rank] if rank < PLACES else 0.0
        if fusion is None:  # the habit of returning speaks for the current app, and nothing else
            return dict.fromkeys(MEANING, 0.0) | {"again": float(believed.sum() * (row[0] - mean[0]) + bias)}

        recency = "again" if current else "recent"
        rows = np.stack([row, *(_neutral(evidence, code, kind, row, mean) for kind in MEANING)])
        ranks = [rank, *(RANKS - 1 if kind == recency else rank for kind in MEANING)]
        place = order.index(code)
        score = fusion.scale[0].item() * rows[:, 0].astype(np.float64)
        if place < CANDIDATES:
            score = self._score(evidence, order[:CANDIDATES], place, everybody, rows, ranks, seen)
        lost = believed[0] * (score[0] - score[1:]) + believed[1] * (rows[0, 0].astype(np.float64) - rows[1:, 0])
        return {kind: float(lost[i]) + (bias if kind == recency else 0.0) for i, kind in enumerate(MEANING)}

    def _score(
        self,
        evidence: Evidence,
        order: list[int],
        place: int,
        everybody: NDArray[np.float32],
        rows: NDArray[np.float32],
        ranks: list[int],
        seen: Moment | None,
    ) -> Floats:
        """(rows,) what the app scores with each of the rows, the others as they are. The logit makes no difference."""
        fusion = self._model.evidence if seen is None else self._model.launch
        assert fusion is not None
        n = len(rows)
        with torch.inference_mode():
            statistics = torch.from_numpy(everybody[order]).repeat(n, 1, 1)
            statistics[:, place] = torch.from_numpy(rows)
            rank = torch.tensor([[evidence.recency(code) for code in order]]).repeat(n, 1)
            rank[:, place] = torch.tensor(ranks)
            moment = fusion.normal_moment(torch.from_numpy(evidence.moment(seen).astype(np.float32))[None])
            hidden = self._inferences[self._active].predict()[0].expand(n, -1) if seen is None else None
            present = torch.ones(n, len(order), dtype=torch.bool)
            scores: Floats = fusion(hidden, moment.expand(n, -1), statistics, rank, None, present).double().numpy()
        return scores[:, place]

    def _told(self, evidence: Evidence, code: int, at: Moment | None, kind: Kind, strength: float) -> Reason | None:
        """The reason with its fact; None where there is none to tell."""
        asked = at or WHENEVER
        pause = 0.0 if asked.whenever else evidence._pause(asked.minutes)
        head_sees = self._model.launch is not None or code == evidence.current
        now = evidence._outlook(at if head_sees else None)
        match kind:
            case "again":
                if code != evidence.current:
                    return None
                key = code if asked.whenever else (code, pause > AT_ONCE, length_of(pause))
                returns, launches = evidence._returns._finer.get(key, [0.0, 0.0])
                times, of = told(returns, launches, OWN_FADE)
                if not times or times * ONE_IN_RETURNS < of:
                    return Reason("again", strength)
                return Reason("after pause" if pause > AT_ONCE else "again", strength, times, of)
            case "before":
                after = evidence._cues.find(evidence._past[-1:])
                if after is None:
                    return None
                times, of = told(after.weights.get(code, 0.0) / after.unit, after.total / after.unit, FADE)
                current = evidence.names[evidence.current]
                return Reason("before", strength, times, of, app=current) if _are_many(times, of) else None
            case "hour":
                lift = evidence._hours.lift(len(evidence.names), now.hour)[code]
                usual = evidence.apps[code].count >= USUAL_COUNT and lift >= USUAL_LIFT
                return Reason("hour", strength, hour=_whole(now.hour) % 24) if usual else None
            case "recent":
                minutes = max(0.0, evidence._outlook(at).seen - evidence.apps[code].opened)
                return Reason("recent", strength, int(minutes)) if minutes < RECENT_MINUTES else None
            case "lately":
                return self._lately(evidence.names[code], asked, strength)
            case "often":
                times = 1 + sum(app.count > evidence.apps[code].count for app in evidence.apps)
                of = len(evidence.apps)
                return Reason("often", strength, times, of) if times <= MOST_USED and 2 * times <= of + 1 else None
            case "waking":
                of = min(evidence._launches.wakings, MOST_TOLD)
                times = _whole(evidence._launches.waking_share(code) * of)
                return Reason("waking", strength, times, of) if pause > AT_ONCE and _are_many(times, of) else None
        return None

    def _notified(self, evidence: Evidence, code: int, at: Moment | None) -> Reason | None:
        """What the app's notification adds to its score in the last word."""
        if at is None:
            return None
        now = evidence.seen(at)
        told = self._word.notices.look(evidence.names, now, evidence.left)
        app = told.apps[code]
        if app is None:
            return None
        return Reason("notified", float(self._word.notices.score(told)[code]), int(max(0.0, now - app.minutes)))

    def _lately(self, app: str, asked: Moment, strength: float) -> Reason | None:
        """Opens in the last day, or in as many hours as the latest events reach back."""
        now = self._latest[-1].minutes if asked.whenever else asked.minutes
        oldest = self._latest[0].minutes if self._steps > len(self._latest) else -math.inf
        hours = next((hours for hours in SPANS if now - 60.0 * hours >= oldest), None)
        if hours is None:
            return None
        times = sum(e.app == app and e.action == OPEN and e.minutes > now - 60.0 * hours for e in self._latest)
        return Reason("lately", strength, times, hours) if times >= LEAST_TIMES else None


def told(count: float, total: float, fade: float) -> tuple[int, int]:
    """A fading count as whole numbers: times of how often it was added to, MOST_TOLD at most."""
    left = max(1.0 - (1.0 - fade) * total, fade**MOST_TOLD)  # fade^n, after n additions
    of = _whole(math.log(left) / math.log(fade))
    return (min(of, _whole(count / total * of)) if total else 0), of


def _whole(number: float) -> int:
    return math.floor(number + 0.5)


def _are_many(times: int, of: int) -> bool:
    return times >= LEAST_TIMES and times * ONE_IN_TIMES >= of


def _group(kind: Kind, current: bool) -> list[int]:
    names = MEANING[kind]
    if current:
        names = {
            "again": ("blend", "pause", *MEANING["again"], *MEANING["recent"]),
            "recent": (),
            "before": tuple(name for name in MEANING["before"] if name != "pause"),
        }.get(kind, names)
    return [STATISTICS.index(name) for name in names]


def _neutral(
    evidence: Evidence, code: int, kind: Kind, row: NDArray[np.float32], mean: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The row as it would be if this group said of the app what it says on average."""
    changed, current = row.copy(), code == evidence.current
    group = _group(kind, current)
    if not current:
        experts = [STATISTICS.index(name) for name in EXPERTS]
        apart = row.astype(np.float64) - mean
        moved = sum(weight * apart[i] for weight, i in zip(evidence._mixer.weights, experts, strict=True) if i in group)
        rank = evidence.recency(code)
        if kind == "recent" and 1 <= rank <= PLACES:
            moved += sum(evidence._mixer.biases[held, rank - 1] for held in evidence._bias_sets())
        changed[0] = row[0].astype(np.float64) - moved
    changed[group] = mean[group]
    return changed
