"""blend: what the clock adds to ppm."""

from __future__ import annotations

import pytest

from predictors.streams import at, fed, usages
from stap.events import Event
from stap.predictors import make

DAY = 1440.0


def days(count: int) -> list[Event]:
    """Mail then news every morning, mail then film every night: after mail, only the clock tells."""
    events = []
    for day in range(count):
        events += usages(["mail", "news"], start=day * DAY + 8 * 60)
        events += usages(["mail", "film"], start=day * DAY + 22 * 60)
    return events


@pytest.mark.parametrize(("hour", "expected"), [(8, "news"), (22, "film")])
def test_the_hour_decides(hour: int, expected: str) -> None:
    history = days(21)
    if hour == 22:
        history += usages(["mail", "news"], start=21 * DAY + 8 * 60)
    blend = fed(make("blend"), [*history, *usages(["mail"], start=21 * DAY + hour * 60)])
    assert blend.rank(1)[0][0] == expected


def test_midnight_is_no_wall() -> None:
    """Used just before midnight, asked for just after: still the app of that hour."""
    events = []
    for day in range(20):
        events += usages(["call", "read"], start=day * DAY + 12 * 60)
        events += usages(["call", "sleep"], start=day * DAY + 23.9 * 60)
    noon = fed(make("blend"), [*events, *usages(["call"], start=20 * DAY + 12 * 60)])
    midnight = fed(make("blend"), [*events, *usages(["call"], start=20 * DAY + 0.1 * 60)])
    assert dict(midnight.rank(5))["sleep"] > 1.2 * dict(noon.rank(5))["sleep"]


def test_a_glance_leads_elsewhere_than_a_long_stay() -> None:
    """After a glance at the chat it is back to work, after a long chat it is the camera."""
    events, now = [], 0.0
    for _ in range(30):
        for apps, stay in ((["work", "chat", "work"], 0.1), (["map", "chat", "camera"], 9.0)):
            for app in apps:
                length = stay if app == "chat" else 2.0
                events += usages([app], start=now, length=length)
                now += length + 1.0
    opened = [*events, *usages(["home"], start=now), at("chat", 1, now + 2)]
    glance = fed(make("blend"), [*opened, at("chat", 0, now + 2.1)])
    long_stay = fed(make("blend"), [*opened, at("chat", 0, now + 11.0)])
    assert dict(glance.rank(9))["work"] > dict(long_stay.rank(9))["work"]
    assert dict(long_stay.rank(9))["camera"] > dict(glance.rank(9))["camera"]


def test_a_close_brings_news_to_blend_alone() -> None:
    history = days(5)
    for name, same in (("ppm", True), ("blend", False)):
        predictor = fed(make(name), [*history, at("mail", 1, 5 * DAY)])
        before = predictor.rank(3)
        predictor.observe(at("mail", 0, 5 * DAY + 8 * 60))
        assert (predictor.rank(3) == before) is same


def test_the_close_of_another_app_is_ignored() -> None:
    predictor = fed(make("blend"), [*days(5), at("mail", 1, 5 * DAY)])
    before = predictor.rank(3)
    predictor.observe(at("film", 0, 5 * DAY + 30))
    assert predictor.rank(3) == before
