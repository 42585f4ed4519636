"""The structures under the predictors, each by hand or against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stap.predictors import cues
from stap.predictors.cues import FADE, Cues, Successors
from stap.predictors.fading import Fading
from stap.predictors.hours import Hours
from stap.predictors.mixer import BIAS_RATE, WEIGHT_RATE, Mixer
from stap.predictors.order import Recency, Tally


def test_tally_and_recency_keep_their_order() -> None:
    tally, recency = Tally(), Recency()
    for app in "abcbca":
        tally.add(app)
        recency.touch(app)
    assert tally.top(9) == ["a", "c", "b"]
    assert (tally.counts, tally.total) == ({"a": 2, "b": 2, "c": 2}, 6)
    assert recency.latest(9) == ["a", "c", "b"]


@given(st.lists(st.sampled_from("abcde")), st.integers(0, 4))
def test_both_orders_are_those_of_their_definitions(apps: list[str], k: int) -> None:
    tally, recency = Tally(), Recency()
    for app in apps:
        tally.add(app)
        recency.touch(app)
    last = {app: place for place, app in enumerate(apps)}
    assert tally.top(k) == sorted(last, key=lambda app: (-apps.count(app), -last[app]))[:k]
    assert recency.latest(k, 1) == sorted(last, key=lambda app: -last[app])[1 : 1 + k]


def test_successors_fade_as_if_every_count_was_multiplied() -> None:
    """Long enough that the weights are rescaled on the way."""
    rng = np.random.default_rng(3)
    successors, plain = Successors(), np.zeros(5)
    for code in rng.integers(0, 5, 30_000).tolist():
        successors.add(code, FADE)
        plain *= cues.FADE
        plain[code] += 1.0
    kept = [successors.weights[code] / successors.unit for code in range(5)]
    assert kept == pytest.approx(plain.tolist())
    assert successors.total / successors.unit == pytest.approx(plain.sum())


def test_successors_forget_the_faintest_when_there_are_too_many() -> None:
    successors = Successors()
    for code in range(cues.SUCCESSORS + 1):
        successors.add(code, FADE)
    assert sorted(successors.weights) == list(range(cues.SUCCESSORS // 2 + 1, cues.SUCCESSORS + 1))
    assert successors.total == pytest.approx(sum(successors.weights.values()))


def test_sharpen_by_hand() -> None:
    """Seen 1 and then 2: weights FADE and 1, two successors, so two visits' worth of prior."""
    table = Cues()
    table.add((7,), 1)
    table.add((7,), 2)
    prior = np.array([0.5, 0.25, 0.25])
    total = 1 + cues.FADE + 2
    expected = [1.0 / total, (cues.FADE + 0.5) / total, 1.5 / total]
    assert table.sharpen(prior, (7,)).tolist() == pytest.approx(expected)
    assert table.sharpen(prior, (8,)) is prior
    assert prior.tolist() == [0.5, 0.25, 0.25]


def test_contexts_forget_the_least_recently_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cues, "GENERATION", 2)
    table, prior = Cues(), np.array([0.5, 0.5])
    for name in (1, 2, 3, 1, 4):  # 1 comes up again, 2 never does
        table.add((name,), 0)
    known = [name for name in (1, 2, 3, 4) if table.sharpen(prior, (name,)) is not prior]
    assert known == [1, 3, 4]
    assert len(table) == 3
    assert table.sharpen(prior, (1,))[0] == pytest.approx((1 + cues.FADE + 0.5) / (2 + cues.FADE))


def test_fading_by_hand_and_growing() -> None:
    fading = Fading(2)
    fading.add(0, np.array([0.5, 1.0]))
    fading.add(40, np.array([0.5, 1.0]))
    fading.add(0, np.array([0.5, 1.0]))
    counts = fading.counts(41)
    assert counts[:, 0].tolist() == [1.25, 2.0]
    assert counts[:, 40].tolist() == [0.5, 1.0]
    assert counts[:, 1:40].sum() == 0.0


def test_hours_lift_where_used_and_average_one_over_the_day() -> None:
    hours = Hours()
    for _ in range(10):
        hours.add(0, 23.5)
        hours.add(50, 12.5)
    lift = np.array([hours.lift(51, hour + 0.5) for hour in range(24)])
    assert lift[:, 0].mean() == pytest.approx(1.0)
    assert lift[:, 0].argmax() == 23
    assert lift[0, 0] == pytest.approx(lift[22, 0])  # midnight is no wall
    assert lift[:, 50].argmax() == 12
    assert lift[:, 1].tolist() == [1.0] * 24


def test_mixer_steps_up_the_gradient() -> None:
    """The step of every weight and bias is the slope of log p(chosen), found here by finite differences."""
    experts = np.log(np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]))
    latest, chosen, nudge = [2, 0], 2, 1e-6

    def log_probability(index: tuple[int, ...] | None, of_bias: bool) -> float:
        mixer = Mixer(np.array([0.6, 0.3]), bias_sets=2)
        if index is not None:
            (mixer.biases if of_bias else mixer.weights)[index] += nudge
        return float(np.log(mixer.predict(experts, latest, 3, [0, 1])[chosen]))

    mixer = Mixer(np.array([0.6, 0.3]), bias_sets=2)
    mixer.predict(experts, latest, 3, [0, 1])
    mixer.learn(chosen)
    flat = log_probability(None, False)
    for i in range(2):
        slope = (log_probability((i,), False) - flat) / nudge
        assert mixer.weights[i] - [0.6, 0.3][i] == pytest.approx(WEIGHT_RATE * slope, rel=1e-4)
        for place in range(2):
            slope = (log_probability((i, place), True) - flat) / nudge
            assert mixer.biases[i, place] == pytest.approx(BIAS_RATE * slope, rel=1e-4)
    assert mixer.biases[:, 2:].tolist() == [[0.0, 0.0]] * 2
