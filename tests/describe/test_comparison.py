"""The figures by hand on logs small enough to count, and the comparison's verdict where it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared import shared_log

from stap import prior, sources
from stap.describe.comparison import Comparison, compare, pool, work
from stap.describe.figure import draw_comparison
from stap.describe.statistics import portraits, repeat_distance
from stap.errors import BadInput
from stap.events import Usages, merged
from stap.metrics import MISS


def test_repeat_distance_by_hand() -> None:
    """a b a c b a: a is back at once, then b has a and c in between, a has c and b."""
    assert repeat_distance(np.array([0, 1, 0, 2, 1, 0], np.int32)).tolist() == [MISS, MISS, 1, MISS, 2, 2]


def test_a_portrait_by_hand() -> None:
    """Two sessions of two and of four usages, a minute each, ten seconds apart; a and b in turn, then c for once."""
    app = np.array([0, 1, 0, 1, 0, 2], np.int32)
    start = 25_000_000.0 + np.array([0.0, 7 / 6, 60.0, 60 + 7 / 6, 60 + 14 / 6, 60 + 21 / 6])
    portrait = portraits(prior.corpus({"u": Usages(app, start, start + 1)}), lambda _: None)
    expected = {
        "usages": 6,
        "distinct apps": 3,
        "first-ever apps": 50,
        "first-ever, 2nd half": 100 / 3,
        "repeat at 1": 60,
        "repeat at 2": 0,
        "seconds, median": 60,
        "gap in a session, s": 10,
        "gap between, minutes": 60 - 13 / 6,
        "session length, mean": 3,
        "single-usage sessions": 0,
        "HR@1 previous": 60,
        "previous - mfu": 60 - portrait["HR@1 mfu"][0],
        "entropy of apps": -(0.5 * np.log2(0.5) + np.log2(1 / 3) / 3 + np.log2(1 / 6) / 6),
        "entropy given the app": 0.6 * -(np.log2(2 / 3) * 2 / 3 + np.log2(1 / 3) / 3),
    }
    for name, value in expected.items():
        assert portrait[name][0] == pytest.approx(value), name


@pytest.fixture(scope="module")
def itself() -> Comparison:
    """Some people of the prior in the place of real ones."""
    ticks: list[int] = []
    real = prior.people(8, 99, (120, 180))
    compared = compare(real, 50, ticks.append)
    assert sum(ticks) + 5 * (8 + 50) == work(real, 50), "everything but a person's last usage is reported"
    return compared


def test_the_prior_is_like_itself(itself: Comparison) -> None:
    assert np.mean([row["inside"] for row in itself.rows()]) > 90
    assert (itself.typical() > 0.02).mean() > 0.7
    assert itself.summary()["synthetic people"] == 50


def test_a_machine_is_not(itself: Comparison) -> None:
    """Two apps in turn for ever."""
    start = 25_000_000.0 + np.arange(150.0)
    machine = prior.corpus({"machine": Usages(np.arange(150, dtype=np.int32) % 2, start, start + 1)})
    odd = Comparison(portraits(machine, lambda _: None), itself.prior, machine, itself.prior_corpus)
    assert odd.typical()[0] < 0.1
    assert {row["statistic"]: row["inside"] for row in odd.rows()}["HR@1 previous"] == 0


def test_shorten_forgets_what_comes_later() -> None:
    start = 25_000_000.0 + np.arange(2000.0)
    app = np.concatenate([np.arange(1990) % 2, np.arange(2, 12)]).astype(np.int32)
    short = prior.corpus({"long": Usages(app, start, start), "brief": Usages(app[:7], start[:7], start[:7])}).first(
        1500
    )
    assert np.diff(short.offsets).tolist() == [1500, 7]
    assert [len(names) for names in short.apps] == [2, 2]


def test_pool_keeps_everybody_who_has_enough() -> None:
    pooled = pool({"a": prior.people(2, 1, (120, 120)), "b": prior.people(2, 1, (20, 20))})
    assert len(pooled.users) == 2
    assert pooled.offsets.tolist() == [0, 120, 240]
    with pytest.raises(BadInput, match="nobody has 100 usages"):
        pool({"b": prior.people(2, 1, (20, 20))})


def test_the_figure_is_drawn(itself: Comparison, tmp_path: Path) -> None:
    draw_comparison(itself, tmp_path / "prior.png")
    assert (tmp_path / "prior.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_real_people_lie_within_the_prior() -> None:
    log = shared_log("ubiqlog/app_sessions.csv.gz")
    real = pool({"ubiqlog": merged(sources.read([log]).table).first(1000)})  # (docs/results/prior.md has them whole)
    compared = compare(real, 100, lambda _: None)
    assert np.mean([row["inside"] for row in compared.rows() if row["statistic"] != "usages"]) > 93
    assert (compared.typical() >= 0.01).mean() > 0.8
