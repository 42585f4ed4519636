"""Evidence: what a person's whole history says of every app, event by event, blind to what an app is.

Notable:
- the `blend` predictor runs along inside: its experts, and the mix that the person's own choices correct, come first
- then counts that fade at more rates, more cues, recency, the rhythm of returns, sessions
- beside the statistics of every app, a few values of the moment, which the gate sees
- nothing here depends on an app's name: rename the apps and the rows change places, no more

This is the definition, written to be read. Training and the engine use the same in C++, some hundred times faster
(engine/src/person/evidence.cpp); tests hold the two together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stap.events import AT_ONCE, OPEN, Event, Moment
from stap.evidence import CUES, EXPERTS, LAUNCH_CUES, MINUTE_HALF_LIVES, MOMENT, RANKS, STATISTICS, USAGE_HALF_LIVES
from stap.predictors.again import length_of, log_odds
from stap.predictors.blend import Blend
from stap.predictors.coded import NOBODY, shifted
from stap.predictors.cues import Cue, Cues
from stap.predictors.ppm import ORDERS
from stap.reference.launches import ANY, Launches
from stap.reference.remembered import App, Outlook

SESSION_GAP = 5.0  # minutes without an app that end a session
RECENT_FADE, RANK_FADE, RANK_AFTER_FADE = 0.85, 0.995, 0.99
MOST_SURPRISE = 10.0
TINY = 1e-4  # of a share whose logarithm is taken
LONGEST = 5  # apps in the longest cue


class Evidence(Blend):
    """The blend, and everything else that is counted. `statistics` and `moment` are asked after any event."""

    def __init__(self) -> None:
        super().__init__()
        self.apps: list[App] = []
        self._others = Cues()
        self._recent = Cues(RECENT_FADE)
        self._longer: Cue = ()  # as `_past`, but longer
        self._rank = np.array([(r + 1.0) ** -2 for r in range(RANKS)])
        self._rank_after = np.tile(self._rank, (5, 1))
        self._usages = self._sessions = self._session_usages = 0
        self._clock = self._seen = self._gap = 0.0  # _clock: minutes that passed, never backwards
        self._surprise = self._mean_surprise = 0.0
        self._fresh_share = 1.0
        self._last_rank = RANKS - 1
        self._begins_session = True
        self._stayed = False  # the current usage was closed once
        self._launches = Launches()
        self._last_pause = 0.0  # before the last launch

    def observe(self, event: Event) -> None:
        if event.action != OPEN:
            super().observe(event)
            return
        launch, pause = self.is_launch(event), self._pause(event.minutes) if self.names else 0.0
        code = self._codes.get(event.app)
        keys = self._keys(self._hour, Moment(event.minutes, event.hour)) if self.names else []
        rank = None if code is None else self._latest.index(code)
        super().observe(event)
        if launch:
            for key in keys[len(CUES) :]:
                if key is not None:
                    self._others.add(key, self.current)
            self._launches.count(self.current, rank, length_of(pause))
            self._last_pause = pause

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
        self._seen, self._stayed = event.minutes, False
        self._usages += 1

    def _count(self, code: int, rank: int, fresh: bool) -> None:
        """Every cue that held until now was followed by this app. (Those of launches are counted by `observe`.)"""
        after = self._rank_after[_bucket(self._last_rank)]
        self._rank *= RANK_FADE
        after *= RANK_AFTER_FADE
        self._rank[min(rank, RANKS - 1)] += 1.0
        after[min(rank, RANKS - 1)] += 1.0
        for key in self._keys(self._hour, None):
            if key is not None:
                (self._recent if key[0] == CUES.index("recent") else self._others).add(key, code)
        self._fresh_share = 0.98 * self._fresh_share + (0.02 if fresh else 0.0)
        self._mean_surprise = 0.95 * self._mean_surprise + 0.05 * self._surprise

    def _keys(self, hour: float, at: Moment | None) -> list[Cue | None]:
        """The cue of each kind that holds, in the order of CUES and LAUNCH_CUES; None where nothing is known."""
        past = self._longer or (NOBODY,)
        pause = None if at is None or at.whenever else length_of(self._pause(at.minutes))
        return [
            (0, *past) if len(past) == LONGEST else None,
            (1, past[-2]) if len(past) > 1 else None,
            (2, past[-1], int(self._begins_session)),
            (3, past[-1], int(hour) // 2),
            (4, past[-1]),
            None if pause is None else (5, past[-1], pause),
            None if pause is None or at is None else (6, pause, int(at.hour) // 3),
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

    def _reopen(self, event: Event) -> None:
        super()._reopen(event)
        self._seen = max(event.minutes, self._seen)

    def _close(self, event: Event) -> None:
        if self.names and event.app == self.names[self.current]:
            if not self._stayed:
                self._stayed = True
                self.apps[self.current].log_minutes += math.log1p(max(0.0, event.minutes - self._opened))
            self._seen = max(event.minutes, self._opened)
        super()._close(event)

    def _forget(self, code: int) -> None:
        if code == self.current:
            self._stayed = True
        del self.apps[code]
        for table in (self._others, self._recent):
            table.forget(code, _apps_in)
        self._launches.forget(code)
        super()._forget(code)
        self._longer = tuple(shifted(self._longer, code)) or tuple(self._latest[:1])
        self._past = self._longer[-ORDERS:]

    def recency(self, code: int) -> int:
        """0: the current app, 1: the one before, ..."""
        return self._latest.index(code)

    def seen(self, at: Moment) -> float:
        """Minutes up to which nothing is missed, when asked at a moment."""
        return self._seen if at.whenever else max(self._seen, at.minutes)

    def _outlook(self, at: Moment | None) -> Outlook:
        """As of the last event, or of a moment after it."""
        again = 0.0 if at is None else log_odds(self.again(at))
        if at is None or at.whenever:
            probability = self.probability() if at is None else self.launch(at)
            return Outlook(probability, self._experts(), self._hour, self._seen, again)
        return Outlook(self.launch(at), self._experts_at(at), at.hour, self.seen(at), again)

    def statistics(self, at: Moment | None = None) -> NDArray[np.float64]:
        """(apps, STATISTICS)"""
        n = len(self.names)
        now = self._outlook(at)
        experts = now.experts
        shares = experts / np.where(np.isin(EXPERTS, ("minutes", "day")), experts.sum(axis=1), 1.0)[:, None]
        frequency, order_1 = experts[:2].mean(axis=0), experts[EXPERTS.index("order 1")]
        priors = [experts[EXPERTS.index("order 3")], frequency, order_1, order_1, frequency, order_1, frequency]
        tables = [self._recent if kind == "recent" else self._others for kind in (*CUES, *LAUNCH_CUES)]
        others = [
            prior if key is None else table.sharpen(prior, key)
            for prior, key, table in zip(priors, self._keys(now.hour, at), tables, strict=True)
        ]
        by_usage, by_minute = (
            np.array(counts) for counts in zip(*(self._faded(app) for app in self.apps), strict=True)
        )
        after = self._rank_after[_bucket(self._last_rank)]
        length = ANY if at is None or at.whenever else length_of(self._pause(at.minutes))
        rows = np.empty((n, len(STATISTICS)))
        for code, app in enumerate(self.apps):
            rank = self._latest.index(code)
            place, crowd = min(rank, RANKS - 1), max(1, n - (RANKS - 1)) if rank >= RANKS - 1 else 1
            idle, idle_usages = max(0.0, now.seen - app.opened), self._usages - 1 - app.last_usage
            returns = app.count - 1
            mean_gap = app.log_gap_minutes / returns if returns else 8.0
            mean_gap_usages = app.log_gap_usages / returns if returns else 5.3
            rows[code] = [
                math.log(max(now.probability[code], 1e-7)),
                *np.log(shares[:, code]),
                _log(app.count / self._usages),
                *(_log(by_usage[code, i] / by_usage[:, i].sum()) for i in (1, 2, 3)),
                *(_log(by_minute[code, i] / by_minute[:, i].sum()) for i in (1, 2, 4)),
                *(_log(share[code]) for share in others[: len(CUES)]),
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
                *(_log(share[code]) for share in others[len(CUES) :]),
                now.again if rank == 0 else 0.0,
                *(_log(share) for share in self._launches.shares(code)),
                _log(self._launches.waking_share(code)),
                _log(self._launches.rank_share(place, length) / crowd),
                float(self._launches.woke(code)),
            ]
        return rows

    def _faded(self, app: App) -> tuple[list[float], list[float]]:
        """Its fading counts, as of the last open of any app. (What fades later, fades alike for all.)"""
        usages, clock = self._usages - 1 - app.last_usage, self._clock - app.clock
        return (
            [n * 0.5 ** (usages / h) for n, h in zip(app.by_usage, USAGE_HALF_LIVES, strict=True)],
            [n * 0.5 ** (clock / h) for n, h in zip(app.by_minute, MINUTE_HALF_LIVES, strict=True)],
        )

    def moment(self, at: Moment | None = None) -> NDArray[np.float64]:
        """(MOMENT,)"""
        if not self.names:
            return np.zeros(len(MOMENT))
        now = self._outlook(at)
        positive = now.probability[now.probability > 0.0]
        angle = now.hour * math.pi / 12.0
        launching = at is not None and not at.whenever
        pause = self._pause(at.minutes) if at is not None and launching else 0.0
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
                float(at is not None),
                float(launching),
                math.log(pause + 0.1),
                float(pause > AT_ONCE),
                now.again,
                float(self._launches.returned),
                math.log1p(self._launches.since_waking),
                math.log(self._last_pause + 0.1),
            ]
        )


def _apps_in(cue: Cue) -> slice:
    """Where a cue of `_keys` has its apps."""
    return slice(1, {0: len(cue), 6: 1}.get(cue[0], 2))


def _log(share: float) -> float:
    return math.log(share + TINY)


def _bucket(rank: int) -> int:
    """Which of five kinds the last step was: back to the app before, two or more back, or to a first-ever app (0)."""
    return {0: 4, 1: 0, 2: 1, 3: 2, 4: 2}.get(rank, 3)
