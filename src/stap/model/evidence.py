"""Evidence: what a person's whole history says of every app, event by event, blind to what an app is.

Notable:
- the `blend` predictor runs along inside: its experts, and the mix that the person's own choices correct, come first
- then counts that fade at more rates, more contexts, recency, the rhythm of returns, sessions
- beside the statistics of every app, a few values of the moment: the context that the gate sees
- nothing here depends on an app's name: rename the apps and the rows change places, no more

This is the definition, written to be read. Training and the engine use the same in C++ (engine/src/person/), which
is some hundred times faster; tests hold the two together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stap.predictors.base import Event
from stap.predictors.blend import Blend
from stap.predictors.contexts import Context, Contexts

USAGE_HALF_LIVES = (3.0, 8.0, 24.0, 70.0, 200.0)
MINUTE_HALF_LIVES = (5.0, 30.0, 180.0, 1440.0, 10080.0)
SESSION_GAP = 5.0  # minutes without an app that end a session
RANKS = 16  # of recency that are told apart; the last is "further back"
RECENT_FADE, RANK_FADE, RANK_AFTER_FADE = 0.85, 0.995, 0.99
MOST_SURPRISE = 10.0
TINY = 1e-4  # of a share whose logarithm is taken
LONGEST = 5  # apps in the longest context
_EXPERTS = ("fast", "slow", "order 1", "order 2", "order 3", "minutes", "day", "hour", "stay")
_KINDS = ("order 5", "skip", "session start", "two hours", "recent")

STATISTICS = (
    "blend",
    *_EXPERTS,
    "share",
    *(f"last {half_life:g} usages" for half_life in USAGE_HALF_LIVES[1:-1]),
    *(f"last {MINUTE_HALF_LIVES[i]:g} minutes" for i in (1, 2, 4)),
    *_KINDS,
    *("idle minutes", "idle usages", "rank", "rank share", "rank share after", "overdue minutes", "overdue usages"),
    *("in session", "session starts", "count", "age", "stay length", "mean gap", "rare"),
)
CONTEXT = (
    *("open", "gap", "stay", "sin hour", "cos hour", "usages", "apps", "session usages", "entropy", "confidence"),
    *("alternation", "fresh share", "session start", "current count", "surprise", "mean surprise"),
    *("fresh", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5", "rank 6-7", "rank 8-10", "rank 11-14", "rank 15+"),
)


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


class Evidence(Blend):
    """The blend, and everything else that is counted. `statistics` and `context` are asked after any event."""

    def __init__(self) -> None:
        super().__init__()
        self.apps: list[App] = []
        self._others = Contexts()
        self._recent = Contexts(RECENT_FADE)
        self._longer: Context = ()  # as `_past`, but longer
        self._rank = np.array([(r + 1.0) ** -2 for r in range(RANKS)])
        self._rank_after = np.tile(self._rank, (5, 1))
        self._usages = self._sessions = self._session_usages = 0
        self._clock = self._seen = self._gap = 0.0  # _clock: minutes that passed, never backwards
        self._surprise = self._mean_surprise = 0.0
        self._fresh_share = 1.0
        self._last_rank = RANKS - 1
        self._begins_session = True

    def _open(self, code: int, event: Event) -> None:
        fresh = code == len(self.names)
        rank = 0 if fresh else self._latest.index(code)
        self._surprise = MOST_SURPRISE
        if not fresh:
            self._surprise = min(MOST_SURPRISE, -math.log(max(self.probability()[code], 1e-9)))
        else:
            self.apps.append(App(first_usage=self._usages))
        if self._usages:
            self._count(code, rank, fresh)
        self._gap = max(0.0, event.minutes - self._seen) if self._usages else 1e4
        self._begins_session = self._gap > SESSION_GAP
        if self._begins_session:
            self._sessions += 1
            self._session_usages = 0
        self._session_usages += 1
        if self._usages:
            self._clock += max(0.0, event.minutes - self._opened)
        self._count_app(self.apps[code], event.minutes, fresh)
        self._longer = (*self._longer, code)[-LONGEST:]
        self._last_rank = rank
        super()._open(code, event)
        self._seen = event.minutes
        self._usages += 1

    def _count(self, code: int, rank: int, fresh: bool) -> None:
        """Every context that held until now was followed by this app."""
        after = self._rank_after[_bucket(self._last_rank)]
        self._rank *= RANK_FADE
        after *= RANK_AFTER_FADE
        self._rank[min(rank, RANKS - 1)] += 1.0
        after[min(rank, RANKS - 1)] += 1.0
        for key in self._keys():
            if key is not None:
                (self._recent if key[0] == _KINDS.index("recent") else self._others).add(key, code)
        self._fresh_share = 0.98 * self._fresh_share + (0.02 if fresh else 0.0)
        self._mean_surprise = 0.95 * self._mean_surprise + 0.05 * self._surprise

    def _keys(self) -> list[Context | None]:
        """The context of each kind that holds now, in the order of _KINDS; None where the history is too short."""
        past = self._longer
        return [
            (0, *past) if len(past) == LONGEST else None,
            (1, past[-2]) if len(past) > 1 else None,
            (2, past[-1], int(self._begins_session)),
            (3, past[-1], int(self._hour) // 2),
            (4, past[-1]),
        ]

    def _count_app(self, app: App, minutes: float, fresh: bool) -> None:
        usages, clock = self._usages - app.last_usage, self._clock - app.clock
        if not fresh:
            app.log_gap_minutes += math.log1p(max(0.0, minutes - app.opened))
            app.log_gap_usages += math.log1p(usages)
        app.by_usage = [1.0 + n * 0.5 ** (usages / h) for n, h in zip(app.by_usage, USAGE_HALF_LIVES, strict=True)]
        app.by_minute = [1.0 + n * 0.5 ** (clock / h) for n, h in zip(app.by_minute, MINUTE_HALF_LIVES, strict=True)]
        app.count += 1
        app.starts += self._begins_session
        app.in_session = app.in_session + 1 if app.session == self._sessions else 1
        app.session, app.last_usage, app.opened, app.clock = self._sessions, self._usages, minutes, self._clock

    def _close(self, event: Event) -> None:
        if self.names and event.app == self.names[self.current]:
            if self._stay is None:
                self.apps[self.current].log_minutes += math.log1p(max(0.0, event.minutes - self._opened))
            self._seen = max(event.minutes, self._opened)
        super()._close(event)

    def recency(self, code: int) -> int:
        """0: the current app, 1: the one before, ..."""
        return self._latest.index(code)

    def statistics(self) -> NDArray[np.float64]:
        """(apps, STATISTICS)"""
        n = len(self.names)
        probability, experts = self.probability(), self._experts()
        shares = experts / np.where(np.isin(_EXPERTS, ("minutes", "day")), experts.sum(axis=1), 1.0)[:, None]
        frequency, order_1 = experts[:2].mean(axis=0), experts[_EXPERTS.index("order 1")]
        priors = [experts[_EXPERTS.index("order 3")], frequency, order_1, order_1, frequency]
        tables = [self._others] * 4 + [self._recent]
        others = [
            prior if key is None else table.sharpen(prior, key)
            for prior, key, table in zip(priors, self._keys(), tables, strict=True)
        ]
        by_usage, by_minute = (
            np.array(counts) for counts in zip(*(self._faded(app) for app in self.apps), strict=True)
        )
        after = self._rank_after[_bucket(self._last_rank)]
        rows = np.empty((n, len(STATISTICS)))
        for code, app in enumerate(self.apps):
            rank = self._latest.index(code)
            place, crowd = min(rank, RANKS - 1), max(1, n - (RANKS - 1)) if rank >= RANKS - 1 else 1
            idle, idle_usages = max(0.0, self._seen - app.opened), self._usages - 1 - app.last_usage
            returns = app.count - 1
            mean_gap = app.log_gap_minutes / returns if returns else 8.0
            mean_gap_usages = app.log_gap_usages / returns if returns else 5.3
            rows[code] = [
                math.log(max(probability[code], 1e-7)),
                *np.log(shares[:, code]),
                _log(app.count / self._usages),
                *(_log(by_usage[code, i] / by_usage[:, i].sum()) for i in (1, 2, 3)),
                *(_log(by_minute[code, i] / by_minute[:, i].sum()) for i in (1, 2, 4)),
                *(_log(share[code]) for share in others),
                math.log(idle + 0.1),
                math.log1p(idle_usages),
                math.log1p(rank),
                _log(self._rank[place] / self._rank[1:].sum() / crowd),
                _log(after[place] / after[1:].sum() / crowd),
                math.log1p(idle) - mean_gap,
                math.log1p(idle_usages) - mean_gap_usages,
                math.log1p(app.in_session) if app.session == self._sessions else 0.0,
                _log((app.starts + 2.0 * shares[1, code]) / (self._sessions + 2.0)),
                math.log1p(app.count),
                math.log1p(self._usages - 1 - app.first_usage),
                app.log_minutes / app.count,
                mean_gap,
                float(app.count <= 2),
            ]
        return rows

    def _faded(self, app: App) -> tuple[list[float], list[float]]:
        """Its fading counts, as of the last open of any app."""
        usages, clock = self._usages - 1 - app.last_usage, self._clock - app.clock
        return (
            [n * 0.5 ** (usages / h) for n, h in zip(app.by_usage, USAGE_HALF_LIVES, strict=True)],
            [n * 0.5 ** (clock / h) for n, h in zip(app.by_minute, MINUTE_HALF_LIVES, strict=True)],
        )

    def context(self) -> NDArray[np.float64]:
        """(CONTEXT,)"""
        probability = self.probability()
        positive = probability[probability > 0.0]
        angle = self._hour * math.pi / 12.0
        rank = np.zeros(10)
        rank[np.searchsorted([0, 1, 2, 3, 4, 5, 7, 10, 14], self._last_rank)] = 1.0
        return np.array(
            [
                float(self._stay is None),
                math.log(self._gap + 0.1),
                math.log((0.0 if self._stay is None else self._seen - self._opened) + 0.1),
                math.sin(angle),
                math.cos(angle),
                math.log1p(self._usages),
                math.log(len(self.names)),
                math.log1p(self._session_usages),
                -float(positive @ np.log(positive)),
                math.log(positive.max()) if len(positive) else 0.0,
                self._rank[1] / self._rank[1:].sum(),
                self._fresh_share,
                float(self._begins_session),
                math.log1p(self.apps[self.current].count),
                self._surprise,
                self._mean_surprise,
                *rank,
            ]
        )


def _log(share: float) -> float:
    return math.log(share + TINY)


def _bucket(rank: int) -> int:
    """Which of five kinds the last step was: back to the app before, two or more back, or to a first-ever app (0)."""
    return {0: 4, 1: 0, 2: 1, 3: 2, 4: 2}.get(rank, 3)
