"""What launchers and systems do today, from their public sources: each a few lines, each ranks the apps seen so far.

They rank the current app too, as they do on a phone; asked for the next *other* app they leave it out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, deque

from stap.events import OPEN, Event, Moment, Ranking
from stap.predictors.base import Maker

HOUR, DAY = 60.0, 1440.0  # minutes


class Rule(ABC):
    """Launches come in, every app gets a score; among equals the one used last is ahead."""

    def __init__(self) -> None:
        self.latest: dict[str, int] = {}  # app -> the number of its last launch, the latest at the end
        self.launches = 0
        self.now = Moment(0.0, 0.0)
        self._open: tuple[str, float] | None = None  # the app in front, and since when

    def observe(self, event: Event) -> None:
        self.now = Moment(event.minutes, event.hour)
        if event.action == OPEN:
            if self._open is None or self._open[0] != event.app:
                self._launched(event.app, self.now)
                self.launches += 1
                self.latest.pop(event.app, None)
                self.latest[event.app] = self.launches
            self._open = (event.app, event.minutes)
        elif self._open is not None and self._open[0] == event.app:
            self._used(event.app, event.minutes - self._open[1])
            self._open = None

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        moment = self.now if at is None or at.whenever else at
        apps = list(reversed(self.latest))[0 if at else 1 :]
        score = {app: self._score(app, moment) for app in apps}
        total = sum(score.values()) or 1.0
        return [(app, score[app] / total) for app in sorted(apps, key=lambda app: -score[app])[: max(k, 0)]]

    @abstractmethod
    def _score(self, app: str, at: Moment) -> float:
        """0 or more."""

    def _launched(self, app: str, at: Moment) -> None:  # noqa: B027 - a hook, not a duty
        """Learn from a launch; `latest` still says how it was before."""

    def _used(self, app: str, minutes: float) -> None:  # noqa: B027
        """Learn from how long an app was in front."""


class Aosp(Rule):
    """Android's open on-device predictor: the most recent apps."""

    def _score(self, app: str, at: Moment) -> float:
        return 1.0 / (self.launches - self.latest[app] + 1)


class Kvaesitso(Rule):
    """Every launch: w += a (1 - w) for the launched app, w *= 1 - a for all others."""

    rate = 0.1

    def __init__(self) -> None:
        super().__init__()
        self._weight: dict[str, float] = {}  # as of the app's last launch

    def _launched(self, app: str, at: Moment) -> None:
        self._weight[app] = self.rate + (1.0 - self.rate) * (self._score(app, at) if app in self.latest else 0.0)

    def _score(self, app: str, at: Moment) -> float:
        return self._weight[app] * (1.0 - self.rate) ** (self.launches - self.latest[app])


class KissFrecency(Rule):
    """KISS: the sum of 1 / (how many launches ago) over the last 180."""

    def __init__(self) -> None:
        super().__init__()
        self._last: deque[str] = deque(maxlen=180)
        self._sums: dict[str, float] | None = None

    def _launched(self, app: str, at: Moment) -> None:
        self._last.appendleft(app)
        self._sums = None

    def _score(self, app: str, at: Moment) -> float:
        if self._sums is None:
            self._sums = {}
            for ago, launched in enumerate(self._last, 1):
                self._sums[launched] = self._sums.get(launched, 0.0) + 1.0 / ago
        return self._sums.get(app, 0.0)


class KissAdaptive(Rule):
    """KISS: launches of the last 36 hours."""

    hours = 36

    def __init__(self) -> None:
        super().__init__()
        self._times: dict[str, deque[Moment]] = {}

    def _launched(self, app: str, at: Moment) -> None:
        times = self._times.setdefault(app, deque())
        times.append(at)
        while at.minutes - times[0].minutes > self.hours * HOUR:
            times.popleft()

    def _score(self, app: str, at: Moment) -> float:
        return float(sum(at.minutes - then.minutes <= self.hours * HOUR for then in self._times[app]))


class KissTime(KissAdaptive):
    """KISS: the nearest time of day of the last 24 days; every day of age counts as an hour further away."""

    hours = 24 * 24

    def _score(self, app: str, at: Moment) -> float:
        best = 0.0
        for then in self._times[app]:
            apart = abs(then.hour - at.hour)
            age = (at.minutes - then.minutes) / DAY
            best = max(best, 36.0 - min(apart, 24.0 - apart) - age)
        return best


class Lawnchair(Rule):
    """Launches among the last 250; then presence in the last 6 hours, day and week, minutes of use, recency.

    (Assumed: each of these breaks the ties of the one before.)
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: deque[str] = deque()
        self._count: Counter[str] = Counter()
        self._minutes: dict[str, float] = {}
        self._seen: dict[str, float] = {}

    def _launched(self, app: str, at: Moment) -> None:
        self._last.append(app)
        self._count[app] += 1
        if len(self._last) > 250:
            self._count[self._last.popleft()] -= 1
        self._seen[app] = at.minutes

    def _used(self, app: str, minutes: float) -> None:
        self._minutes[app] = self._minutes.get(app, 0.0) + max(0.0, minutes)

    def _score(self, app: str, at: Moment) -> float:
        age = at.minutes - self._seen[app]
        present = 12 * (age <= 6 * HOUR) + 4 * (age <= DAY) + (age <= 7 * DAY)
        return float(self._count[app] + present / 18.0 + min(self._minutes.get(app, 0.0), 1e6) * 1e-9)


class Gnome(Rule):
    """GNOME Shell: a point for every 7 seconds in front; all are halved when one passes the cap."""

    cap = 3600 * 50 / 7

    def __init__(self) -> None:
        super().__init__()
        self._points: dict[str, float] = {}

    def _used(self, app: str, minutes: float) -> None:
        self._points[app] = self._points.get(app, 0.0) + math.floor(max(0.0, minutes) * 60.0 / 7.0)
        if self._points[app] > self.cap:
            self._points = {name: points / 2.0 for name, points in self._points.items()}

    def _score(self, app: str, at: Moment) -> float:
        return self._points.get(app, 0.0)


class ChromeOs(Rule):
    """ChromeOS (2019): frequency, frecency, hour bins and a first-order chain under exponential weights.

    A launch multiplies the weight of each by exp(-eta (1 - the share it gave to what came)).
    """

    eta = 0.1

    def __init__(self) -> None:
        super().__init__()
        self._before: str | None = None
        self._count: Counter[str] = Counter()
        self._frecency = Kvaesitso()
        self._hours: dict[int, Counter[str]] = {}
        self._next: dict[str | None, Counter[str]] = {}
        self._weights = [0.25] * 4

    def observe(self, event: Event) -> None:
        super().observe(event)
        self._frecency.observe(event)

    def _launched(self, app: str, at: Moment) -> None:
        if app in self._count:
            shares = self._shares(app, at)
            weights = [w * math.exp(-self.eta * (1.0 - s)) for w, s in zip(self._weights, shares, strict=True)]
            self._weights = [w / sum(weights) for w in weights]
        self._count[app] += 1
        self._hours.setdefault(int(at.hour), Counter())[app] += 1
        self._next.setdefault(self._before, Counter())[app] += 1
        self._before = app

    def _shares(self, app: str, at: Moment) -> list[float]:
        frecency = self._frecency
        tables = (self._count, self._hours.get(int(at.hour), Counter()), self._next.get(self._before, Counter()))
        counted = [table[app] / max(1, table.total()) for table in tables]
        return [*counted, frecency._score(app, at) if app in frecency.latest else 0.0]

    def _score(self, app: str, at: Moment) -> float:
        return sum(w * s for w, s in zip(self._weights, self._shares(app, at), strict=True))


class Ios(Rule):
    """As others have decompiled it (confidence medium): fading histograms over day and week, and what follows an app.

    (Assumed: a half-life of 7 days, Gaussian bins, the three shares summed alike.)
    """

    bins = 200

    def __init__(self) -> None:
        super().__init__()
        self._before: str | None = None
        self._day: dict[str, list[float]] = {}
        self._faded = 0.0
        self._next: dict[str | None, Counter[str]] = {}

    def _launched(self, app: str, at: Moment) -> None:
        if not self._day:
            self._faded = at.minutes
        unit = 2.0 ** ((at.minutes - self._faded) / (7 * DAY))
        if unit > 1e6:  # instead of fading every count, a newer launch weighs more
            self._day = {name: [value / unit for value in row] for name, row in self._day.items()}
            self._faded, unit = at.minutes, 1.0
        self._day.setdefault(app, [0.0] * self.bins)[int(at.hour / 24.0 * self.bins) % self.bins] += unit
        self._next.setdefault(self._before, Counter())[app] += 1
        self._before = app

    def _score(self, app: str, at: Moment) -> float:
        row, middle = self._day[app], int(at.hour / 24.0 * self.bins)
        unit = 2.0 ** ((at.minutes - self._faded) / (7 * DAY))
        near = sum(row[(middle + step) % self.bins] * math.exp(-((step / 4.0) ** 2)) for step in range(-10, 11))
        follows = self._next.get(self._before, Counter())
        return float(near / unit + sum(row) / unit / 24.0 + follows[app] / max(1, follows.total()))


class Memogent(Rule):
    """0.45 frequency + 0.30 exp(-age / 1 h) + 0.25 share of this hour."""

    def __init__(self) -> None:
        super().__init__()
        self._count: Counter[str] = Counter()
        self._hours: dict[int, Counter[str]] = {}
        self._seen: dict[str, float] = {}

    def _launched(self, app: str, at: Moment) -> None:
        self._count[app] += 1
        self._hours.setdefault(int(at.hour), Counter())[app] += 1
        self._seen[app] = at.minutes

    def _score(self, app: str, at: Moment) -> float:
        hour = self._hours.get(int(at.hour), Counter())
        frequency = self._count[app] / self.launches
        age = max(0.0, at.minutes - self._seen[app])
        return 0.45 * frequency + 0.30 * math.exp(-age / HOUR) + 0.25 * hour[app] / max(1, hour.total())


RULES: dict[str, Maker] = {
    "aosp": Aosp,
    "kvaesitso": Kvaesitso,
    "kiss-frecency": KissFrecency,
    "kiss-adaptive": KissAdaptive,
    "kiss-time": KissTime,
    "lawnchair": Lawnchair,
    "gnome": Gnome,
    "chromeos": ChromeOs,
    "ios": Ios,
    "memogent": Memogent,
}
