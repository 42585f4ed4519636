"""Whatever the prior draws is a valid, merged log, the same for everybody who asks for it."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from stap import prior
from stap.events import Corpus, Usages, by_first_use, from_table, tidy
from stap.usage import TIME, merge, validate
from stap.windows import VOCABULARY

people = st.tuples(st.integers(0, 2**32), st.integers(0, 10**6))


def as_table(corpus: Corpus) -> pl.DataFrame:
    """The corpus as a usage table, times rounded to the microsecond."""
    user = np.repeat(np.arange(len(corpus.users)), np.diff(corpus.offsets))
    names = [corpus.apps[u][code] for u, code in zip(user.tolist(), corpus.app.tolist(), strict=True)]
    times = {
        name: pl.Series(name, np.round(getattr(corpus, name) * 60e6).astype("datetime64[us]"), TIME)
        for name in ("start", "end")
    }
    return pl.DataFrame({"user": [corpus.users[u] for u in user.tolist()], "app": names, **times})


def assert_valid(log: Usages) -> None:
    assert (log.start[1:] >= log.start[:-1]).all()
    assert (log.end >= log.start).all()
    assert (log.end[:-1] <= log.start[1:]).all()
    assert (log.app[1:] != log.app[:-1]).all()
    assert (log.app == by_first_use(log.app)[1]).all()
    assert log.app.dtype == np.int32


@settings(max_examples=60, deadline=None)
@given(people, st.integers(2, 900))
def test_a_log_is_valid_and_of_the_size_asked_for(who: tuple[int, int], usages: int) -> None:
    log = prior.draw_log(*who, (usages, usages))
    assert_valid(log)
    assert len(log.app) == usages
    assert log.app.max() < VOCABULARY


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_the_corpus_is_the_table_it_would_be_read_from(seed: int) -> None:
    corpus = prior.people(3, seed, (50, 400))
    table = as_table(corpus)
    assert validate(table, "prior").equals(merge(table).select(table.columns))
    again = from_table(table)
    assert again.app.tolist() == corpus.app.tolist()
    assert again.apps == corpus.apps
    np.testing.assert_allclose(again.start, corpus.start, atol=1e-6)
    np.testing.assert_allclose(again.end, corpus.end, atol=1e-6)


def test_anybody_draws_the_same_person() -> None:
    """Person 7 is person 7, alone, among others, or in another order; other seeds and numbers are other people."""
    alone = prior.draw_log(3, 7)
    among = prior.people(4, 3, first=5)
    rows = among.rows(2)
    for mine, theirs in zip(alone[:3], (among.app[rows], among.start[rows], among.end[rows]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert among.users[2] == "person 7"
    for other in (prior.draw_log(3, 8), prior.draw_log(4, 7)):
        assert len(other.app) != len(alone.app) or (other.app != alone.app).any()


def test_sizes_spread_over_the_range() -> None:
    sizes = np.diff(prior.people(60, 1, (50, 800)).offsets)
    assert sizes.min() >= 50
    assert sizes.max() <= 800
    assert 120 < np.median(sizes) < 330  # even in log: the middle is 200


def test_people_differ() -> None:
    """A prior of clones would pass every test above."""
    corpus = prior.people(40, 2, (300, 300))
    apps = corpus.app_counts
    days = np.array([np.ptp(corpus.start[corpus.rows(u)]) / 1440 for u in range(40)])
    assert np.quantile(apps, 0.9) > 3 * np.quantile(apps, 0.1)
    assert np.quantile(days, 0.9) > 8 * np.quantile(days, 0.1)


def test_fast_enough_to_train_on() -> None:
    """At least 20,000 usages a second of this process's own time; it was 100,000 and more when this was written."""
    prior.people(2, 0)
    begin = time.process_time()
    usages = len(prior.people(20, 0).app)
    assert usages / (time.process_time() - begin) > 20_000


def test_tidy_merges_sorts_clips_and_numbers() -> None:
    log = tidy(Usages(np.array([5, 2, 2, 9], np.int32), np.array([3.0, 0.0, 1.0, 4.0]), np.array([9.0, 2.5, 2.0, 4.5])))
    assert log.app.tolist() == [0, 1, 2]
    assert log.start.tolist() == [0.0, 3.0, 4.0]
    assert log.end.tolist() == [2.5, 4.0, 4.5]


def test_tidy_of_nothing_is_nothing() -> None:
    nothing = Usages(np.empty(0, np.int32), np.empty(0), np.empty(0))
    assert len(tidy(nothing).app) == 0
