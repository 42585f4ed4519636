"""The rules of deployed launchers, each worked out by hand on a short day."""

from __future__ import annotations

import pytest

from predictors.streams import at, fed, usages
from stap.events import Event, Moment, Ranking
from stap.predictors import rules

HISTORY = usages(["mail", "chat", "mail", "maps"], gap=9.0)  # opened in minutes 0, 10, 20, 30; each for a minute
NOW = Moment(40.0, 40 / 60)


def order(ranking: Ranking) -> list[str]:
    return [app for app, _ in ranking]


def scores(rule: rules.Rule, history: list[Event] = HISTORY) -> dict[str, float]:
    fed(rule, history)
    return {app: rule._score(app, NOW) for app in rule.latest}


def test_aosp_lists_the_latest() -> None:
    assert order(fed(rules.Aosp(), HISTORY).rank(5, NOW)) == ["maps", "mail", "chat"]
    assert order(fed(rules.Aosp(), HISTORY).rank(5)) == ["mail", "chat"], "the next other app"


def test_kvaesitso_weighs_every_launch() -> None:
    found = scores(rules.Kvaesitso())
    assert found["maps"] == pytest.approx(0.1)
    assert found["chat"] == pytest.approx(0.1 * 0.9**2)
    assert found["mail"] == pytest.approx((0.1 + 0.9 * 0.1 * 0.9) * 0.9)


def test_kiss_counts_by_how_many_launches_ago() -> None:
    assert scores(rules.KissFrecency()) == pytest.approx({"mail": 1 / 4 + 1 / 2, "chat": 1 / 3, "maps": 1.0})
    assert scores(rules.KissAdaptive()) == {"mail": 2.0, "chat": 1.0, "maps": 1.0}
    found = scores(rules.KissTime())
    assert found["maps"] == pytest.approx(36 - 10 / 60 - 10 / 1440)
    assert found["chat"] == pytest.approx(36 - 30 / 60 - 30 / 1440)


def test_kiss_forgets_after_36_hours() -> None:
    rule = fed(rules.KissAdaptive(), HISTORY)
    assert isinstance(rule, rules.KissAdaptive)
    assert rule._score("mail", Moment(36 * 60 + 15.0, 0.0)) == 1.0


def test_lawnchair_breaks_ties_by_presence_then_use() -> None:
    long_mail = [*HISTORY, at("chat", 1, 35.0), at("chat", 0, 39.0)]
    assert order(fed(rules.Lawnchair(), long_mail).rank(5, NOW)) == ["chat", "mail", "maps"]


def test_gnome_counts_seconds_in_front() -> None:
    assert scores(rules.Gnome()) == {"mail": 16.0, "chat": 8.0, "maps": 8.0}  # 60 s are 8 times 7 s


def test_memogent_sums_three_shares() -> None:
    found = scores(rules.Memogent())
    assert found["maps"] == pytest.approx(0.45 / 4 + 0.30 * 2.718281828 ** (-10 / 60) + 0.25 / 4)


def test_chromeos_trusts_who_was_right() -> None:
    rule = rules.ChromeOs()
    fed(rule, usages(["mail", "chat"] * 20))
    assert rule._weights[2] > max(rule._weights[0], rule._weights[1])  # the chain knows what follows what
    assert order(rule.rank(1)) == ["mail"]


def test_ios_knows_the_time_of_day() -> None:
    days = [event for day in range(8) for event in _day(1440.0 * day)]
    rule = fed(rules.Ios(), days)
    assert order(rule.rank(1, Moment(8 * 1440 + 480.0, 8.0)))[0] == "alarm"
    assert order(rule.rank(1, Moment(8 * 1440 + 1200.0, 20.0)))[0] == "films"


def _day(midnight: float) -> list[Event]:
    return [*usages(["alarm", "mail"], start=midnight + 480.0), *usages(["films", "mail"], start=midnight + 1200.0)]


@pytest.mark.parametrize("rule", [kind for kind in vars(rules).values() if isinstance(kind, type)])
def test_every_rule_ranks_what_it_saw_and_nothing_else(rule: type) -> None:
    if rule is rules.Rule or not issubclass(rule, rules.Rule):
        return
    made = fed(rule(), usages(["a", "b", "c", "a", "d"] * 3))
    assert order(made.rank(0, NOW)) == []
    assert sorted(order(made.rank(9, Moment(100.0, 5.0)))) == ["a", "b", "c", "d"]
    assert "d" not in order(made.rank(9))
