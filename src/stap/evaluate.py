"""Score any predictor on any corpus, by protocol. docs/protocol.md says what, when, against which candidates.

launch: one pass over a user's launches, asked when each comes; the app used last is among the candidates.
stream: one pass in time order over a user's whole history, candidates are the apps seen so far.
paper:  window by window, a fresh start at each window, candidates are all apps of the user's whole history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np

from stap.errors import BadInput
from stap.events import AT_ONCE, OPEN, UNKNOWN, WHENEVER, Bools, Corpus, Event, Ints, Longs, Moment, Ranking
from stap.metrics import DEEPEST, MISS, tally, tally_users
from stap.notices import Notice, interleaved
from stap.predictors.base import KnowsApps, Maker, Predictor, TakesNotices, Trained, fresh
from stap.tally import Tally
from stap.terminal import Tick, quiet
from stap.windows import CONTEXT, VOCABULARY, Windows, cut, filter_users


@dataclass(frozen=True)
class Terms:
    """What the paper protocol's figures depend on besides people and predictors: L and V."""

    context: int = CONTEXT  # events in a window
    vocabulary: int = VOCABULARY  # who has more apps is left out

    @classmethod
    def of(cls, makers: Collection[object], context: int | None = None, longer: bool = False) -> Terms:
        """As the models among the makers were trained, and as the paper has it where there are none.

        A context beyond what a model was trained for has to be asked for twice.
        """
        trained = [maker.sizes for maker in makers if isinstance(maker, Trained)]
        own = min((length for _, length in trained), default=CONTEXT)
        if context is not None and context % 2:
            raise BadInput("--context", f"{context} is odd, and a usage is two events", f"use {context + 1}")
        if context is not None and trained and context > own and not longer:
            why = f"{context} events, but the model was trained for {own}"
            raise BadInput("--context", why, f"use at most {own}, or add --longer-context")
        return cls(context or own, min((room for room, _ in trained), default=VOCABULARY))


Posted = Mapping[str, Sequence[Notice]]  # each user's notifications, in the order of time
NONE: Posted = {}


@runtime_checkable
class WindowRanker(Protocol):
    """A maker that can also rank whole windows at once: the same scores, far sooner."""

    def rank_windows(self, corpus: Corpus, windows: Windows, tick: Tick) -> Iterator[tuple[int, list[int]]]:
        """Each window's user and, as `_replay` would give them, the ranks at its labelled events."""
        ...


@runtime_checkable
class StreamRanker(Protocol):
    def rank_stream(self, corpus: Corpus, tick: Tick) -> Iterator[tuple[int, list[int]]]:
        """The same of whole histories, in `stream`."""
        ...


@dataclass(frozen=True)
class Ranks:
    """The rank of the label at every scored position: n positions, in order of user and time."""

    users: tuple[str, ...]
    user: Longs  # (n,) index into users
    opened: Bools  # (n,) the position is just after an open; otherwise just after a close
    rank: Ints  # (n,) from 1; MISS where the label was not listed

    def tally(self, protocol: str) -> Tally:
        """stream scores a usage once, after its close; paper scores every event, as the paper does."""
        scored = ~self.opened if protocol == "stream" else np.ones(len(self.rank), bool)
        kinds = {"open": self.opened, "close": ~self.opened}
        counts = tally_users(self.rank[scored], self.user[scored], len(self.users))
        return Tally(self.users, counts, {kind: tally(self.rank[which]) for kind, which in kinds.items()})


def stream(corpus: Corpus, make: Maker, tick: Tick = quiet) -> Ranks:
    """The honest protocol: the predictor sees what a product would see, once, in order."""
    if isinstance(make, StreamRanker):
        return _collect(corpus, make.rank_stream(corpus, tick))

    def rank_user(user: int) -> list[int]:
        return _replay(fresh(make, corpus.users[user]), corpus.events(user), corpus.labels(user), tick)

    return _collect(corpus, ((user, rank_user(user)) for user in range(len(corpus.users))))


def paper(corpus: Corpus, make: Maker, terms: Terms = Terms(), tick: Tick = quiet) -> Ranks:  # noqa: B008 - frozen
    """The paper's protocol; users with more than V apps are left out, as there."""
    corpus = filter_users(corpus, terms.vocabulary)
    windows = cut(corpus, terms.context)
    if isinstance(make, WindowRanker):
        return _collect(corpus, make.rank_windows(corpus, windows, tick))

    def rank_window(user: int, first: int, usages: int) -> list[int]:
        rows, predictor = slice(first, first + usages), fresh(make, corpus.users[user])
        # Apps not listed are all tied for the last places, and a tie counts against the predictor.
        unlisted = len(corpus.apps[user])
        return _replay(predictor, corpus.events(user, rows), corpus.labels(user, rows), tick, unlisted)

    pieces = zip(windows.user.tolist(), windows.first.tolist(), windows.usages.tolist(), strict=True)
    return _collect(corpus, ((piece[0], rank_window(*piece)) for piece in pieces))


def _replay(
    predictor: Predictor,
    usages: Iterator[tuple[Event, Event]],
    labels: list[str | None],
    tick: Tick,
    unlisted: int = MISS,
) -> list[int]:
    """Ranks after each open and each close, alternating."""
    ranks: list[int] = []
    for pair, label in zip(usages, labels, strict=True):
        for event in pair:
            predictor.observe(event)
            if label is not None:
                ranks.append(_place(predictor.rank(DEEPEST), label, unlisted))
        tick(label is not None)
    return ranks


@dataclass(frozen=True)
class LaunchRanks:
    """The rank of what was launched, at every launch but a person's first: n of them, in order of user and time."""

    users: tuple[str, ...]
    user: Longs  # (n,) index into users
    rank: Ints  # (n,) asked at the launch's time
    foreseen: Ints  # (n,) asked at the close before, of whenever it comes
    paused: Bools  # (n,) more than a minute after that close
    same: Bools  # (n,) the app used last again
    home: Longs  # (n,) from a home screen: 1, 0 or UNKNOWN
    notifications: int = 0  # given to the predictor on the way

    def tally(self) -> Tally:
        """By what came before; nobody can tell of a home screen where the log shows none."""
        home = {"home": self.home == 1, "resumed": self.same & (self.home == 0)}
        tells = bool((self.home != UNKNOWN).any())
        scopes = {
            "pause": tally(self.rank[self.paused]),
            "at_once": tally(self.rank[~self.paused]),
            **{scope: tally(self.rank[which]) if tells else None for scope, which in home.items()},
            "foreseen": tally(self.foreseen),
        }
        counts = tally_users(self.rank, self.user, len(self.users))
        return Tally(self.users, counts, scopes, {"notifications": self.notifications})


def launch(corpus: Corpus, make: Maker, tick: Tick = quiet, posted: Posted = NONE) -> LaunchRanks:
    """A launcher's protocol: asked when somebody looks at the screen; the current app is among the candidates."""
    rows: list[tuple[int, int, int, bool, bool, int]] = []
    given = 0
    for user, name in enumerate(corpus.users):
        predictor, before, foreseen = fresh(make, name), None, Ranking()
        homes = iter(corpus.usages(user).homes.tolist())
        for each in _history(corpus, user, predictor, posted.get(name, ())):
            if isinstance(each, Notice):
                given += 1
            elif each.action == OPEN:
                home = next(homes)
                if before is not None:
                    now = _place(predictor.rank(DEEPEST, Moment(each.minutes, each.hour)), each.app, MISS)
                    paused = each.minutes - before.minutes > AT_ONCE
                    ever = _place(foreseen, each.app, MISS)
                    rows.append((user, now, ever, paused, each.app == before.app, home))
                predictor.observe(each)
            else:
                predictor.observe(each)
                before, foreseen = each, predictor.rank(DEEPEST, WHENEVER)
                tick(1)
    user_of, rank, foreseen_, paused_, same, homes_ = np.array(rows, np.int64).reshape(-1, 6).T
    places = rank.astype(np.int32), foreseen_.astype(np.int32)
    return LaunchRanks(corpus.users, user_of, *places, paused_ > 0, same > 0, homes_, given)


def _history(corpus: Corpus, user: int, predictor: Predictor, posted: Sequence[Notice]) -> Iterator[Event | Notice]:
    """A user's events to be observed, and notifications, each given already to a predictor that can take them."""
    takes = predictor if isinstance(predictor, TakesNotices) else None
    for each in interleaved(chain.from_iterable(corpus.events(user)), posted if takes else ()):
        if takes and isinstance(each, Notice):
            takes.notified(each)
        yield each


def _place(ranking: Ranking, label: str, unlisted: int) -> int:
    for place, (app, _) in enumerate(ranking, 1):
        if app == label:
            return place
    return unlisted


def _collect(corpus: Corpus, pieces: Iterator[tuple[int, list[int]]]) -> Ranks:
    users, ranks = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for user, places in pieces:
        users.append(np.full(len(places), user, np.int64))
        ranks.append(np.array(places, np.int32))
    rank = np.concatenate(ranks)
    return Ranks(corpus.users, np.concatenate(users), np.arange(len(rank)) % 2 == 0, rank)


def report(ranks: Ranks, protocol: str) -> dict[str, Any]:
    """One predictor's entry of the JSON."""
    return ranks.tally(protocol).report()


def report_launches(ranks: LaunchRanks) -> dict[str, Any]:
    """The same of launches."""
    return ranks.tally().report()


@dataclass(frozen=True)
class Scored:
    """What the predictors did on some people; results of different people add up."""

    tallies: Mapping[str, Tally]
    users: int
    left_out: Sequence[str]  # users with more apps than the paper protocol has room for

    @classmethod
    def joined(cls, parts: Sequence[Scored]) -> Scored:
        """Of all people of these parts, in their order."""
        tallies = {name: Tally.joined([part.tallies[name] for part in parts]) for name in parts[0].tallies}
        return cls(tallies, sum(part.users for part in parts), [user for part in parts for user in part.left_out])

    def result(self, protocol: str, terms: Terms) -> dict[str, Any]:
        """The JSON of `stap evaluate`."""
        if not all(map(len, self.tallies.values())):
            limit = f" and at most {terms.vocabulary} apps" if protocol == "paper" else ""
            unit = "launches" if protocol == "launch" else "usages"
            raise BadInput("log", f"nothing to score: no user has two {unit}{limit}", "use a longer log")
        return {
            "protocol": protocol,
            "context": terms.context if protocol == "paper" else None,
            "vocabulary": terms.vocabulary if protocol == "paper" else None,
            "users left out": list(self.left_out),
            "predictors": {name: tally.report() for name, tally in self.tallies.items()},
        }


def score(
    corpus: Corpus,
    makers: Mapping[str, Maker],
    protocol: str,
    terms: Terms,
    tick: Tick = quiet,
    posted: Posted = NONE,
) -> Scored:
    """Every predictor on the same positions."""

    def ranked(maker: Maker) -> Tally:
        if protocol == "launch":
            found = launch(corpus, maker, tick, posted).tally()
        else:
            ranks = stream(corpus, maker, tick) if protocol == "stream" else paper(corpus, maker, terms, tick)
            found = ranks.tally(protocol)
        return found.beside(scored, maker.apps) if isinstance(maker, KnowsApps) else found

    scored = filter_users(corpus, terms.vocabulary) if protocol == "paper" else corpus
    left_out = np.flatnonzero(corpus.app_counts > terms.vocabulary).tolist() if protocol == "paper" else []
    tallies = {name: ranked(maker) for name, maker in makers.items()}
    return Scored(tallies, len(corpus.users), [corpus.users[user] for user in left_out])


def run(
    corpus: Corpus,
    makers: Mapping[str, Maker],
    protocol: str,
    terms: Terms,
    tick: Tick = quiet,
    posted: Posted = NONE,
) -> dict[str, Any]:
    """The JSON of `stap evaluate` on people who are all here."""
    return score(corpus, makers, protocol, terms, tick, posted).result(protocol, terms)


def rank_now(
    corpus: Corpus,
    predictor: Predictor,
    k: int,
    at: Moment = WHENEVER,
    tick: Tick = quiet,
    posted: Sequence[Notice] = (),
) -> Ranking:
    """What the predictor expects to be launched at a moment after the last event of a corpus of one user."""
    for each in _history(corpus, 0, predictor, posted):
        if isinstance(each, Event):
            predictor.observe(each)
            tick(each.action == OPEN)
    return predictor.rank(k, at)
