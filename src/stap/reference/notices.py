"""Notifications: which apps asked to be opened since they last were, and how readily this person follows.

Notable:
- a notified app's score gets a weight by the notification's age, one more if it came since the current app's last
  event, one more if it is the latest of all, and one of its own, for some apps' are followed and others' are not
- people differ in this and nobody could be trained on: the weights begin at about a third of where they settle, and
  every launch takes a bounded step up the log likelihood of what was launched

The engine does the same, in notices.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stap.events import Floats
from stap.notices import Notice

AGES = (2.0, 15.0, 1440.0)  # minutes that part young, recent and old; past the last it no longer counts
START = (0.75, 0.25, 0.1, 0.4, 0.2)  # weights of young, recent, old, since the last event, the latest
RATE, OWN_RATE = 0.05, 0.1
MOST, MOST_OWN = 3.0, 2.0


@dataclass
class App:
    minutes: float  # of its last notification
    waits: bool = True  # it was not opened since
    weight: float = 0.0  # how much more readily this app's are followed than others'


class Told(NamedTuple):
    """What candidates' notifications say of them."""

    apps: list[App | None]
    signs: Floats  # (signs, apps) 0 or 1


class Notices:
    def __init__(self) -> None:
        self.apps: dict[str, App] = {}  # in the order of their last notifications
        self.weights: Floats = np.array(START)

    def notified(self, notice: Notice) -> None:
        known = self.apps.pop(notice.app, App(notice.minutes))
        self.apps[notice.app] = App(notice.minutes, True, known.weight)

    def opened(self, app: str) -> None:
        if app in self.apps:
            self.apps[app].waits = False

    def forget(self, app: str) -> None:
        self.apps.pop(app, None)

    def look(self, names: list[str], now: float, last: float) -> Told:
        """Candidates' names, minutes of now and of the current app's last event."""
        apps = [self._waiting(name, now) for name in names]
        times = np.array([-np.inf if app is None else app.minutes for app in apps])
        age = np.where(np.isfinite(times), np.maximum(0.0, now - times), np.inf)
        ages = [(low <= age) & (age < high) for low, high in zip((0.0, *AGES), AGES, strict=False)]
        return Told(apps, np.array([*ages, times >= last, self._latest(apps)], float))

    def score(self, told: Told) -> Floats:
        """(apps,) what is added to each candidate's score: 0 where nothing waits."""
        own: Floats = np.array([0.0 if app is None else app.weight for app in told.apps])
        return own + self.weights @ told.signs

    def learn(self, told: Told, surprise: Floats) -> None:
        """(apps,) 1 for what was launched and 0 for the others, less the shares that they were given."""
        for app, step in zip(told.apps, surprise.tolist(), strict=True):
            if app is not None:
                app.weight = float(np.clip(app.weight + OWN_RATE * step, -MOST_OWN, MOST_OWN))
        self.weights = np.clip(self.weights + RATE * (told.signs @ surprise), -MOST, MOST)

    def _waiting(self, name: str, now: float) -> App | None:
        app = self.apps.get(name)
        return app if app is not None and app.waits and now - app.minutes < AGES[-1] else None

    def _latest(self, apps: list[App | None]) -> list[bool]:
        """Of those notified at the same time, who was so last."""
        waiting = [app for app in self.apps.values() if any(app is one for one in apps)]
        latest = max(reversed(waiting), key=lambda app: app.minutes, default=None)
        return [app is not None and app is latest for app in apps]
