"""Reasons as plain sentences, from data alone."""

from __future__ import annotations

import pytest

from stap.evidence import STATISTICS
from stap.reference.why import MEANING, told
from stap.why import EXACT, KINDS, MOST_TOLD, NOTHING, Reason, sentence


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (Reason("again", 1.0), "the app used last"),
        (Reason("again", 1.0, 7, 9), "opened again 7 of 9 times"),
        (Reason("after pause", 1.0, 7, 9), "opened again after 7 of 9 pauses like this"),
        (Reason("after pause", 1.0, 30, 50), "opened again after about 30 of the last 50 pauses like this"),
        (Reason("before", 1.0, 12, 20, app="Mail"), "came after Mail about 12 of 20 times"),
        (Reason("hour", 1.0, hour=8), "usual at 8 in the morning"),
        (Reason("hour", 1.0, hour=0), "usual at midnight"),
        (Reason("hour", 1.0, hour=3), "usual at 3 at night"),
        (Reason("hour", 1.0, hour=12), "usual at noon"),
        (Reason("hour", 1.0, hour=17), "usual at 5 in the afternoon"),
        (Reason("hour", 1.0, hour=18), "usual at 6 in the evening"),
        (Reason("hour", 1.0, hour=23), "usual at 11 at night"),
        (Reason("recent", 1.0, 0), "opened less than a minute ago"),
        (Reason("recent", 1.0, 1), "opened 1 minute ago"),
        (Reason("recent", 1.0, 3), "opened 3 minutes ago"),
        (Reason("recent", 1.0, 119), "opened 1 hour ago"),
        (Reason("recent", 1.0, 179), "opened 2 hours ago"),
        (Reason("lately", 1.0, 14, 24), "opened 14 times in the last day"),
        (Reason("lately", 1.0, 2, 6), "opened twice in the last 6 hours"),
        (Reason("lately", 1.0, 5, 1), "opened 5 times in the last hour"),
        (Reason("often", 1.0, 1, 40), "the most used app"),
        (Reason("often", 1.0, 2, 40), "the second most used app"),
        (Reason("often", 1.0, 10, 40), "the 10th most used app"),
        (Reason("often", 1.0, 22, 90), "the 22nd most used app"),
        (Reason("waking", 1.0, 4, 12), "the first app after 4 of 12 pauses"),
        (Reason("notified", 1.0, 3), "notified 3 minutes ago"),
    ],
)
def test_every_reason_is_a_plain_sentence(reason: Reason, said: str) -> None:
    assert reason.sentence == said


def test_reasons_are_said_one_after_the_other() -> None:
    assert sentence([Reason("often", 1.0, 1, 9), Reason("recent", 0.5, 2)]) == "the most used app; opened 2 minutes ago"
    assert sentence([]) == NOTHING


def test_every_statistic_means_one_thing() -> None:
    """But the blend, which is taken apart, and how long an app stays open, which is no reason."""
    meant = [name for names in MEANING.values() for name in names]
    assert sorted([*meant, "blend", "stay length"]) == sorted(STATISTICS)
    assert {*MEANING, "after pause", "notified"} == set(KINDS)


@pytest.mark.parametrize("fade", [0.98, 0.5 ** (1 / 25)])
def test_few_times_are_told_exactly_whatever_their_order(fade: float) -> None:
    """All ways to be counted up to EXACT times: what fades is still told to the last one."""
    for n in range(1, EXACT + 1):
        for ways in range(1 << n):
            hits = [ways >> i & 1 for i in range(n)]
            count = sum(hit * fade**age for age, hit in enumerate(hits))
            assert told(count, sum(fade**age for age in range(n)), fade) == (sum(hits), n)


def test_many_times_are_told_of_the_last_ones() -> None:
    total = sum(0.98**age for age in range(1000))
    assert told(0.6 * total, total, 0.98) == (30, MOST_TOLD)
    assert told(0.0, 0.0, 0.98) == (0, 0)
