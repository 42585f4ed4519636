"""From who a person is to what a perfect logger would have seen: sessions on the clock, apps one by one, stays.

Notable:
- time comes first: sessions and their lengths need no apps, so everything that depends on time alone is drawn in arrays
- one plain loop chooses the apps, because each choice depends on those before; all its chances are drawn beforehand
- the past acts through copying (an app some usages ago, what followed here last time, the same hour of an earlier day)
  and through fixed followers; taste, notifications and first-ever apps bring in what the past does not hold
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stap.events import DAY, Bools, Floats, Longs
from stap.prior.log import Log
from stap.prior.person import AGAIN, AGAIN_2, FOLLOW, FOLLOW_2, GIVEN, LAG, Habits, Person, Random, power_law
from stap.prior.sessions import Sessions, draw_sessions
from stap.prior.tastes import draw_given, draw_popularity
from stap.windows import VOCABULARY

FOLLOWERS = 12  # an app has at most so many
PAIR_ROWS = 512  # pairs of apps share so many rows of followers
LONGEST_LAG = 1000


def behave(person: Person, usages: int, rng: Random) -> Log:
    """At least `usages` usages unless neighbours turn out alike: the caller merges and cuts."""
    sessions = draw_sessions(person, usages, rng)
    glance = rng.random(usages) < person.stays.glances
    apps = _choose(person, sessions, glance, rng)
    return _on_the_clock(person, sessions, np.array(apps, np.int32), glance, rng)


@dataclass(frozen=True)
class _Chances:
    """Everything the loop over usages needs, drawn beforehand; lists, because a loop reads them faster."""

    how: list[int]
    lag: list[int]
    given: list[int]
    same_hour: list[int]  # the usage at this hour of an earlier day, or -1
    follower: list[int]  # which of an app's followers, 0 is the favourite
    back: list[float]
    glance: list[bool]
    may_stay: list[bool]  # the app may be the same as the one before: the logger will merge them


def _choose(person: Person, sessions: Sessions, glance: Bools, rng: Random) -> list[int]:
    popularity = draw_popularity(person, sessions, rng)
    given = draw_given(person, sessions, popularity, rng)
    chances = _draw_chances(person, sessions, glance, given, rng)
    sizes = VOCABULARY
    back = _per_app(person.habits.back, person.habits.back_spread, sizes, rng)
    back_after_glance = _per_app(person.habits.back_after_glance, person.habits.back_spread, sizes, rng)
    apps: list[int] = [int(popularity.base.argmax())]
    usages = len(glance)
    edges = np.linspace(1, usages, person.habits.regimes + 1).astype(int).tolist()
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        follow = _followers(popularity.base, sizes, rng)
        follow_two = _followers(popularity.base, PAIR_ROWS, rng)
        _walk(apps, range(low, high), chances, follow, follow_two, back, back_after_glance)
    return apps


def _walk(
    apps: list[int],
    rows: range,
    chances: _Chances,
    follow: list[list[int]],
    follow_two: list[list[int]],
    back: list[float],
    back_after_glance: list[float],
) -> None:
    """Choose the apps of these rows, one after the other, and append them."""
    c = chances
    current = apps[-1]
    before = next((app for app in reversed(apps) if app != current), current)
    after: dict[int, int] = {}
    after_two: dict[int, int] = {}
    for i in rows:
        how = c.how[i]
        if c.back[i] < (back_after_glance if c.glance[i - 1] else back)[current]:
            app = before
        elif how == GIVEN:
            app = c.given[i]
        elif how == LAG:
            app = apps[-c.lag[i]] if c.lag[i] <= i else c.given[i]
        elif how == FOLLOW:
            app = follow[current][c.follower[i]]
        elif how == AGAIN:
            app = after.get(current, before)
        elif how == AGAIN_2:
            app = after_two.get(before * VOCABULARY + current, before)
        elif how == FOLLOW_2:
            app = follow_two[(before * 31 + current * 17) % PAIR_ROWS][c.follower[i]]
        else:
            app = apps[c.same_hour[i]] if c.same_hour[i] >= 0 else c.given[i]
        if app == current:
            if c.may_stay[i]:
                apps.append(app)
                continue
            app = c.given[i] if c.given[i] != current else before
        after[current] = app
        after_two[before * VOCABULARY + current] = app
        if app != current:
            before, current = current, app
        apps.append(app)


def _draw_chances(person: Person, sessions: Sessions, glance: Bools, given: Longs, rng: Random) -> _Chances:
    habits, usages = person.habits, len(glance)
    first = sessions.place == 0
    how = np.where(
        first,
        np.searchsorted(np.cumsum(habits.first)[:-1], rng.random(usages)),
        np.searchsorted(np.cumsum(habits.within)[:-1], rng.random(usages)),
    )
    lags = np.cumsum(power_law(LONGEST_LAG, habits.lag_decay))
    lag = 2 + np.searchsorted(lags[:-1], rng.random(usages))
    swing = _swings(habits, usages, rng)
    how[swing > 0] = LAG
    back = rng.random(usages)
    back[(swing > 0) | (first & (rng.random(usages) > habits.back_at_start))] = 1.0  # not now
    return _Chances(
        how=how.tolist(),
        lag=np.where(swing > 0, swing, lag).tolist(),
        given=given.tolist(),
        same_hour=_same_hour(sessions, rng).tolist(),
        follower=np.minimum(rng.geometric(habits.focus, usages) - 1, FOLLOWERS - 1).tolist(),
        back=back.tolist(),
        glance=glance.tolist(),
        may_stay=(first & (rng.random(usages) < habits.resume)).tolist(),
    )


def _swings(habits: Habits, usages: int, rng: Random) -> Longs:
    """(usages,) inside an alternation how many usages ago the app is that comes, 2 or 3; 0 outside."""
    begins = np.flatnonzero(rng.random(usages) < habits.swings)
    lengths = rng.geometric(1 / habits.swing_length, len(begins))
    change = np.zeros(usages + 1, np.int64)
    np.add.at(change, begins, 1)
    np.add.at(change, np.minimum(begins + lengths, usages), -1)
    inside = np.cumsum(change[:-1]) > 0
    return np.where(inside, 2 + (rng.random(usages) < habits.swing_three), 0)


def _same_hour(sessions: Sessions, rng: Random) -> Longs:
    """(usages,) the usage at the same place of the session nearest to this time a day or a week ago; -1 if none."""
    ago = np.where(rng.random(len(sessions.time)) < 0.7, DAY, 7 * DAY) + rng.normal(0, 20, len(sessions.time))
    then = np.searchsorted(sessions.time, sessions.time - ago) - 1
    model = np.repeat(np.where(then >= 0, sessions.first[then], -1), sessions.length)
    length = np.repeat(sessions.length[then], sessions.length)
    return np.where(model >= 0, model + np.minimum(sessions.place, length - 1), -1)


def _followers(base: Floats, rows: int, rng: Random) -> list[list[int]]:
    """rows x FOLLOWERS apps, favourites first; popular apps follow more often, but less so than their popularity."""
    flat = np.sqrt(base)
    cumulative = np.cumsum(flat / flat.sum())
    return np.searchsorted(cumulative[:-1], rng.random((rows, FOLLOWERS))).tolist()  # type: ignore[no-any-return]


def _per_app(mean: float, concentration: float, apps: int, rng: Random) -> list[float]:
    """(apps,) a probability for each, spread around the person's mean."""
    mean = min(max(mean, 0.01), 0.99)
    return rng.beta(mean * concentration, (1 - mean) * concentration, apps).tolist()  # type: ignore[no-any-return]


def _on_the_clock(person: Person, sessions: Sessions, app: np.ndarray, glance: Bools, rng: Random) -> Log:  # type: ignore[type-arg]
    """Stays and pauses; a session that runs late pushes the next one."""
    stays, usages = person.stays, len(app)
    median = np.log(stays.seconds) + rng.normal(0, stays.app_spread, VOCABULARY)
    seconds = np.exp(median[app] + rng.normal(0, stays.spread, usages))
    seconds[glance] = stays.glance_seconds * np.exp(rng.normal(0, 0.4, int(glance.sum())))
    pause = stays.pause_seconds * np.exp(rng.normal(0, 0.8, usages)) * (rng.random(usages) < stays.pauses)
    free = 0.6 * 60 * 60 * person.day.awake / person.day.usages  # seconds that a usage may take on average
    seconds *= min(1.0, free / np.mean(seconds + pause))
    taken = (np.minimum(seconds, 4 * 3600) + pause) / 60
    done = np.concatenate([[0.0], np.cumsum(taken)[:-1]])
    late = np.maximum.accumulate(sessions.time - done[sessions.first])
    start = np.repeat(late, sessions.length) + done
    return Log(app, start, start + np.minimum(seconds, 4 * 3600) / 60)
