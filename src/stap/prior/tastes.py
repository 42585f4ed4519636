"""What a person would choose by taste: popularity by setting and by date, notifications, first-ever apps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stap.events import DAY, Floats, Longs
from stap.prior.person import Person, Random, Tastes, power_law
from stap.prior.sessions import Sessions, is_weekend
from stap.windows import VOCABULARY

MOST_APPS = VOCABULARY - 10  # what a logger adds must find room
PERIODS = 40  # the log is cut into at most so many stretches of constant taste
MONTH = 30.0  # days


@dataclass(frozen=True)
class Popularity:
    base: Floats  # (apps,) shares
    by_setting: Floats  # (periods, settings, apps) log popularity
    start: Floats  # (apps,) log preference for opening a session


def draw_popularity(person: Person, sessions: Sessions, rng: Random) -> Popularity:
    tastes = person.tastes
    base = power_law(tastes.apps, tastes.zipf)
    base *= np.exp(rng.normal(0, 0.3, tastes.apps))
    base /= base.sum()
    days = float(sessions.time[-1] - sessions.time[0]) / DAY + 1
    periods = max(1, min(PERIODS, int(days)))
    drift, bursts, installs = (part(tastes, periods, days, rng) for part in (_drift, _bursts, _installs))
    change = drift + bursts + installs
    setting = rng.normal(0, tastes.setting_strength, (tastes.settings, tastes.apps))
    return Popularity(
        base=base,
        by_setting=np.log(base) + change[:, None, :] + setting,
        start=rng.normal(0, tastes.session_start, tastes.apps),
    )


def _drift(tastes: Tastes, periods: int, days: float, rng: Random) -> Floats:
    """(periods, apps) a random walk."""
    step = tastes.drift * np.sqrt(days / periods / MONTH)
    return np.cumsum(rng.normal(0, step, (periods, tastes.apps)), axis=0)


def _bursts(tastes: Tastes, periods: int, days: float, rng: Random) -> Floats:
    """(periods, apps) some apps are used intensively for some days."""
    lift = np.zeros((periods, tastes.apps))
    for app in rng.integers(0, tastes.apps, rng.poisson(tastes.bursts * tastes.apps * days / MONTH)):
        begin, lasts = rng.uniform(0, days), rng.exponential(4)
        low, high = (int(periods * at / days) for at in (begin, begin + lasts))
        lift[low : high + 1, app] += tastes.burst_strength * rng.random()
    return lift


def _installs(tastes: Tastes, periods: int, days: float, rng: Random) -> Floats:
    """(periods, apps) minus much before an app is there, a fading boost from then on; more arrive early than late."""
    arrives = rng.random(tastes.apps) < tastes.installs
    at = np.where(arrives, rng.beta(0.8, 1.0, tastes.apps), -1.0) * periods
    since = np.arange(periods)[:, None] - at
    boost = tastes.novelty * np.exp(-np.maximum(since, 0) * days / periods / 5.0) * arrives
    return np.where(since >= 0, boost, -50.0)


def draw_given(person: Person, sessions: Sessions, popularity: Popularity, rng: Random) -> Longs:
    """(usages,) the app that taste, a notification or curiosity would choose now."""
    tastes, usages = person.tastes, len(sessions.of)
    periods, settings, apps = popularity.by_setting.shape
    span = sessions.time[-1] - sessions.time[0] + 1.0
    period = ((sessions.time - sessions.time[0]) * (periods / span)).astype(np.int64)
    within = popularity.by_setting.reshape(-1, apps)
    table = np.exp(np.concatenate([within, within + popularity.start]))
    row = (period * settings + _settings(tastes, sessions, rng))[sessions.of] + len(within) * (sessions.place == 0)
    given = _pick(table, row, rng)
    notifiers = rng.permutation(min(apps, 12))[: tastes.notifiers]
    notified = rng.random(usages) < tastes.notified
    given[notified] = rng.choice(notifiers, int(notified.sum()))
    new = np.flatnonzero(rng.random(usages) < tastes.explore * (1 + np.arange(usages) / 10) ** -tastes.explore_decay)
    new = new[: max(0, MOST_APPS - apps)]
    given[new] = apps + np.arange(len(new))
    return given


def _pick(table: Floats, row: Longs, rng: Random) -> Longs:
    """One column for each row asked for, by weight: row r of the table covers r .. r + 1 of one long line."""
    share = np.cumsum(table, axis=1)
    share /= share[:, -1:]
    share += np.arange(len(table))[:, None]
    column: Longs = np.searchsorted(share.ravel(), row + rng.random(len(row))) - row * table.shape[1]
    return column.clip(0, table.shape[1] - 1)


def _settings(tastes: Tastes, sessions: Sessions, rng: Random) -> Longs:
    """(sessions,) the setting of each: stretches of the day, other ones at the weekend, blurred."""
    hour = sessions.time % DAY / 60
    edges = np.sort(rng.uniform(0, 24, max(1, tastes.settings - 1)))
    planned = rng.integers(0, tastes.settings, (2, len(edges) + 1))
    setting = planned[is_weekend(sessions.time // DAY).astype(int), np.searchsorted(edges, hour)]
    blurred = rng.random(len(hour)) < tastes.setting_blur
    return np.where(blurred, rng.integers(0, tastes.settings, len(hour)), setting)
