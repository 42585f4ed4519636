"""Both protocols, worked out by hand on a dozen usages, with a predictor that does as it is told."""

from __future__ import annotations

import numpy as np
import pytest
from test_usage import table

from stap.evaluate import Ranks, Terms, launch, paper, report, run, stream
from stap.events import Corpus, Event, Moment, Ranking, Usages, from_table
from stap.metrics import MISS
from stap.notices import Notice
from stap.predictors import CLASSICAL
from stap.usage import merge


def corpus(*orders: str) -> Corpus:
    """One user an order, one letter a usage."""
    rows = [
        (f"u{user}", app, 100 * i, 100 * i + 50) for user, order in enumerate(orders) for i, app in enumerate(order)
    ]
    return from_table(merge(table(*rows)))


class Recent:
    """Apps by last use, the current one left out; remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Event] = []

    def observe(self, event: Event) -> None:
        self.shown.append(event)

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        order = list(dict.fromkeys(event.app for event in reversed(self.shown)))[1:]
        return [(app, 1 / len(order)) for app in order[:k]]


def test_stream_by_hand() -> None:
    """A B A C A B: next apps B A C A B; ranked by recency B is new, A 1st, C new, A 1st, B 2nd (after C)."""
    ranks = stream(corpus("ABACAB"), Recent)
    assert ranks.rank[ranks.opened].tolist() == [MISS, 1, MISS, 1, 2]
    assert ranks.rank[~ranks.opened].tolist() == [MISS, 1, MISS, 1, 2]


def test_paper_restarts_in_every_window_and_knows_all_candidates() -> None:
    """Windows of two usages: AB | AC | AB. Unlisted apps tie for the last of three places."""
    ranks = paper(corpus("ABACAB"), Recent, Terms(4))
    assert ranks.rank[ranks.opened].tolist() == [3, 1, 3, 1, 3]
    assert report(ranks, "paper")["pooled"]["n"] == 10


def test_the_predictor_sees_the_past_only() -> None:
    seen: list[Recent] = []

    def make() -> Recent:
        seen.append(Recent())
        return seen[-1]

    stream(corpus("ABA", "CD"), make)
    assert [[(e.app, e.action) for e in p.shown] for p in seen] == [
        [("A", 1), ("A", 0), ("B", 1), ("B", 0), ("A", 1), ("A", 0)],
        [("C", 1), ("C", 0), ("D", 1), ("D", 0)],
    ]
    times = [event.minutes for event in seen[0].shown]
    assert times == sorted(times)


def test_stream_pools_one_score_a_usage_at_its_close() -> None:
    ranks = Ranks(
        ("u", "v"), np.array([0, 0, 1, 1]), np.array([True, False, True, False]), np.array([1, 2, 1, 9], "i4")
    )
    made = report(ranks, "stream")
    assert made["pooled"] == {"n": 2, "HR@1": 0.0, "HR@3": 50.0, "HR@5": 50.0, "MRR@3": 25.0, "MRR@5": 25.0}
    assert made["open"]["HR@1"] == 100.0
    assert {user: row["HR@3"] for user, row in made["users"].items()} == {"u": 100.0, "v": 0.0}


def test_a_user_with_one_usage_has_nothing_to_score() -> None:
    result = run(corpus("AB", "A"), {"previous": CLASSICAL["previous"]}, "stream", Terms())
    assert result["predictors"]["previous"]["pooled"]["n"] == 1
    assert list(result["predictors"]["previous"]["users"]) == ["u0"]


def test_the_paper_s_mru_never_hits_at_one() -> None:
    letters = np.random.default_rng(0).choice(list("ABCDE"), 200)
    people = corpus("".join(letters))
    mru, previous = (stream(people, CLASSICAL[name]).rank for name in ("mru", "previous"))
    assert (mru > 1).all()
    listed = (mru < 5) & (mru != MISS)
    assert (previous[listed] == mru[listed] - 1).all(), "leaving the current app out moves everyone up by one"


@pytest.mark.parametrize("protocol", ["stream", "paper"])
@pytest.mark.parametrize("name", CLASSICAL)
def test_every_classical_predictor_runs_in_both_protocols(name: str, protocol: str) -> None:
    letters = "".join(np.random.default_rng(1).choice(list("ABCDEFGH"), 60))
    done: list[int] = []
    result = run(corpus(letters, "AB"), {name: CLASSICAL[name]}, protocol, Terms(16), done.append)
    pooled = result["predictors"][name]["pooled"]
    assert 0 <= pooled["HR@1"] <= pooled["HR@3"] <= pooled["HR@5"] <= 100
    assert sum(done) > 0


def test_launches_by_hand() -> None:
    """mail, mail after an hour, chat at once, mail a day later: `again` is right after the first pause alone."""
    start = np.array([0.0, 60.0, 61.5, 1500.0])
    people = Corpus.of([("u", ("mail", "chat"), Usages(np.array([0, 0, 1, 0], np.int32), start, start + 1.0))])
    ranks = launch(people, CLASSICAL["again"])
    assert ranks.rank.tolist() == [1, MISS, 2]
    assert ranks.foreseen.tolist() == [1, MISS, 2]
    assert ranks.paused.tolist() == [True, False, True]
    assert ranks.same.tolist() == [True, False, False]


class Told(Recent):
    """Writes down what it hears and is asked, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def observe(self, event: Event) -> None:
        super().observe(event)
        self.heard.append(f"{event.app}{event.action}")

    def notified(self, notice: Notice) -> None:
        self.heard.append(f"!{notice.app}")

    def rank(self, k: int, at: Moment | None = None) -> Ranking:
        self.heard.append("?" if at is None else "whenever?" if at.whenever else f"{at.minutes:.0f}?")
        return super().rank(k, at)


def test_notifications_come_in_the_order_of_time_and_what_is_foreseen_is_asked_before_them() -> None:
    """At the second of an event the event comes first: an app that opens may post at once."""
    start = np.array([0.0, 60.0])
    people = Corpus.of([("u", ("mail", "chat"), Usages(np.array([0, 1], np.int32), start, start + 10.0))])
    posted = [Notice(app, minutes, 0.0) for app, minutes in (("a", -5), ("b", 5), ("c", 10), ("d", 60), ("e", 99))]
    made = Told()
    ranks = launch(people, lambda: made, posted={"u": posted, "somebody else": posted})
    assert made.heard == [
        *("!a", "mail1", "!b", "mail0", "whenever?", "!c", "60?"),
        *("chat1", "!d", "chat0", "whenever?", "!e"),
    ]
    assert ranks.notifications == 5
    assert launch(people, Recent, posted={"u": posted}).notifications == 0, "who cannot take them gets none"
