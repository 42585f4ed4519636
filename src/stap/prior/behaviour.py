"""From who a person is to what a perfect logger would have seen: sessions on the clock, apps one by one, stays.

Notable:
- time comes first: sessions and their lengths need no apps, so everything that depends on time alone is drawn in arrays
- one plain loop chooses the apps, because each choice depends on those before; all its chances are drawn beforehand
- the past acts through copying (an app some usages ago, what followed here last time, the same hour of an earlier day)
  and through fixed followers; taste, notifications and first-ever apps bring in what the past does not hold
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stap.events import DAY, Bools, Floats, Ints, Longs, Usages
from stap.prior.person import AGAIN, AGAIN_2, FOLLOW, FOLLOW_2, GIVEN, LAG, Habits, Person, Random, pick, power_law
from stap.prior.sessions import Sessions, draw_sessions
from stap.prior.tastes import draw_given, draw_popularity
from stap.windows import VOCABULARY

FOLLOWERS = 8  # an app has at most so many
PAIR_ROWS = 251  # pairs of apps share so many rows of followers
LONGEST_LAG = 1000


def behave(person: Person, usages: int, rng: Random) -> Usages:
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
    habits = person.habits
    popularity = draw_popularity(person, sessions, rng)
    given = draw_given(person, sessions, popularity, rng)
    chances = _draw_chances(person, sessions, glance, given, rng)
    means = (habits.back, habits.back_after_glance)
    back = np.concatenate([_per_app(mean, habits.back_spread, rng) for mean in means]).tolist()
    apps: list[int] = [int(popularity.base.argmax())]
    for low, high in pairwise(np.linspace(1, len(glance), habits.regimes + 1).astype(int).tolist()):
        follow = _follow(habits, popularity.base, rng)
        follow_two = _followers(habits.hub, popularity.base, PAIR_ROWS, rng).tolist()
        _walk(apps, range(low, high), chances, back, follow, follow_two)
    return apps


def _walk(
    apps: list[int], rows: range, c: _Chances, back: list[float], follow: list[list[int]], follow_two: list[list[int]]
) -> None:
    """Choose the apps of these rows, one after the other, and append them.

    back: of each app the chance of going straight back from it; follow: its followers, the favourite first. Rows
    0 .. VOCABULARY - 1 of both hold after a stay, as many more after a glance. follow_two: the followers of PAIR_ROWS
    kinds of pairs of apps.
    """
    current = apps[-1]
    before = next((app for app in reversed(apps) if app != current), current)
    after: dict[int, int] = {}
    after_two: dict[int, int] = {}
    for i in rows:
        how, given = c.how[i], c.given[i]
        here = current + VOCABULARY if c.glance[i - 1] else current
        pair = before * VOCABULARY + current
        if c.back[i] < back[here]:
            app = before
        elif how == GIVEN:
            app = given
        elif how == LAG:
            app = apps[-c.lag[i]] if c.lag[i] <= i else given
        elif how == FOLLOW:
            app = follow[here][c.follower[i]]
        elif how == AGAIN:
            app = after.get(current, given)
        elif how == AGAIN_2:
            app = after_two.get(pair, given)
        elif how == FOLLOW_2:
            app = follow_two[pair % PAIR_ROWS][c.follower[i]]
        else:
            app = apps[c.same_hour[i]] if c.same_hour[i] >= 0 else given
        if app == current and not c.may_stay[i]:
            app = given if given != current else follow[here][c.follower[i]]
        apps.append(app)
        if app != current:
            after[current] = after_two[pair] = app
            before, current = current, app


def _draw_chances(person: Person, sessions: Sessions, glance: Bools, given: Longs, rng: Random) -> _Chances:
    habits, usages = person.habits, len(glance)
    first = sessions.place == 0
    how = np.where(first, pick(habits.first, rng.random(usages)), pick(habits.within, rng.random(usages)))
    lag = 2 + pick(power_law(LONGEST_LAG, habits.lag_decay), rng.random(usages))
    how[(how == LAG) & (lag > sessions.place) & (rng.random(usages) < habits.session_memory)] = GIVEN
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
    first = np.repeat(np.where(then >= 0, sessions.first[then], -1), sessions.length)
    length = np.repeat(sessions.length[then], sessions.length)
    return np.where(first >= 0, first + np.minimum(sessions.place, length - 1), -1)


def _follow(habits: Habits, base: Floats, rng: Random) -> list[list[int]]:
    """The followers of every app: after a stay, then after a glance, which is the same for some apps."""
    stay, glance = (_followers(habits.hub, base, VOCABULARY, rng) for _ in range(2))
    same = rng.random(VOCABULARY) >= habits.stay_matters
    glance[same] = stay[same]
    return np.concatenate([stay, glance]).tolist()  # type: ignore[no-any-return]


def _followers(hub: float, base: Floats, rows: int, rng: Random) -> Longs:
    """(rows, FOLLOWERS) apps, favourites first; popular apps follow more often, but less so than their popularity.

    Row r never has app r, so that an app is never its own follower.
    """
    flat = np.sqrt(base)
    follower = pick(flat / flat.sum(), rng.random((rows, FOLLOWERS)))
    follower[rng.random((rows, FOLLOWERS)) < hub] = base.argmax()
    own = follower == np.arange(rows)[:, None]
    return np.where(own, (follower + 1) % len(base), follower)


def _per_app(mean: float, concentration: float, rng: Random) -> Floats:
    """(VOCABULARY,) a probability for each app, spread around the person's mean."""
    mean = min(max(mean, 0.01), 0.99)
    return rng.beta(mean * concentration, (1 - mean) * concentration, VOCABULARY)


def _on_the_clock(person: Person, sessions: Sessions, app: Ints, glance: Bools, rng: Random) -> Usages:
    """Stays and pauses; a session that runs late pushes the next one."""
    stays, usages = person.stays, len(app)
    median = np.log(stays.seconds) + rng.normal(0, stays.app_spread, VOCABULARY)
    seconds = np.exp(median[app] + rng.normal(0, stays.spread, usages))
    seconds[glance] = stays.glance_seconds * np.exp(rng.normal(0, 0.4, int(glance.sum())))
    pause = stays.pause_seconds * np.exp(rng.normal(0, 0.8, usages)) * (rng.random(usages) < stays.pauses)
    free = 0.7 * 60 * 60 * person.day.awake / person.day.usages  # seconds that a usage may take on average
    seconds *= min(1.0, free / np.mean(seconds + pause))
    taken = (np.minimum(seconds, 4 * 3600) + pause) / 60
    done = np.concatenate([[0.0], np.cumsum(taken)[:-1]])
    late = np.maximum.accumulate(sessions.time - done[sessions.first])
    start = np.repeat(late, sessions.length) + done
    return Usages(app, start, start + np.minimum(seconds, 4 * 3600) / 60)
