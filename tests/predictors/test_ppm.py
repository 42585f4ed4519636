"""ppm against a slow reference in plain Python that shares no code with it; its parts are tested beside."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from predictors.streams import fed, merged_apps, usages
from stap.predictors import make

HALF_LIVES = (3.0, 200.0)
WEIGHTS = (0.22, 0.33, 0.28, 0.08, 0.13)


def reference(apps: str) -> dict[str, float]:
    """The whole of ppm from its description, quadratic in the history: everything is recounted for every usage."""
    weights, biases = list(WEIGHTS), [0.0] * 4
    probability: dict[str, float] = {}
    for length in range(2, len(apps) + 1):
        past = apps[:length]
        logs = {app: [math.log(share) for share in experts] for app, experts in _experts(past).items()}
        latest = sorted(set(past), key=lambda app: -past.rindex(app))[1:5]
        score = {app: sum(w * x for w, x in zip(weights, logs[app], strict=True)) for app in logs if app != past[-1]}
        for place, app in enumerate(latest):
            score[app] += biases[place]
        top = max(score.values())
        raw = {app: math.exp(value - top) + 1e-9 for app, value in score.items()}
        probability = {app: value / sum(raw.values()) for app, value in raw.items()}
        chosen = apps[length] if length < len(apps) else None
        if chosen in probability:
            for i in range(5):
                expected = sum(probability[app] * logs[app][i] for app in probability)
                weights[i] += 0.0015 * (logs[chosen][i] - expected)
            for place, app in enumerate(latest):
                biases[place] += 0.03 * ((app == chosen) - probability[app])
    return probability


def _experts(past: str) -> dict[str, list[float]]:
    """For every app: its share at two rates, then after contexts of one, two and three apps."""
    apps = sorted(set(past))
    counts = {
        app: [0.02 + sum(0.5 ** ((len(past) - 1 - i) / h) for i, a in enumerate(past) if a == app) for h in HALF_LIVES]
        for app in apps
    }
    shares = {app: [counts[app][i] / sum(counts[a][i] for a in apps) for i in (0, 1)] for app in apps}
    prior = {app: sum(shares[app]) / 2 for app in apps}
    for order in (1, 2, 3):
        context = past[-order:]
        followed = [past[i] for i in range(order, len(past)) if past[i - order : i] == context]
        if len(past) >= order and followed:
            weight = {app: sum(0.98**age for age, a in enumerate(reversed(followed)) if a == app) for app in apps}
            escape = len(set(followed))
            prior = {app: (weight[app] + escape * prior[app]) / (sum(weight.values()) + escape) for app in apps}
        for app in apps:
            shares[app].append(prior[app])
    return shares


@given(apps=merged_apps(most=40))
def test_ppm_is_its_slow_reference(apps: str) -> None:
    expected = reference(apps)
    assert dict(fed(make("ppm"), usages(apps)).rank(9)) == pytest.approx(expected, rel=1e-7)


def test_before_anything_repeats_only_frequency_speaks() -> None:
    """a b c: no context has come up twice, so the orders all say what the two rates say on average."""
    fast, slow = (0.5 ** (1 / h) for h in HALF_LIVES)
    shares = []
    for one in (fast, slow):
        a, b, c = one * one + 0.02, one + 0.02, 1.02
        shares.append((a / (a + b + c), b / (a + b + c)))
    odds = (shares[0][1] / shares[0][0]) ** 0.22 * (shares[1][1] / shares[1][0]) ** 0.33
    odds *= (sum(s[1] for s in shares) / sum(s[0] for s in shares)) ** 0.49
    ranking = fed(make("ppm"), usages("abc")).rank(2)
    assert [app for app, _ in ranking] == ["b", "a"]
    assert [probability for _, probability in ranking] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])


def test_longer_contexts_tell_what_shorter_cannot() -> None:
    """After b comes c or d, as often; only what came before b says which."""
    phrase = "abcxbd" * 30
    assert fed(make("ppm"), usages(phrase + "ab")).rank(1)[0][0] == "c"
    assert fed(make("ppm"), usages(phrase + "abcxb")).rank(1)[0][0] == "d"


def test_a_person_who_goes_back_is_learned() -> None:
    """Never the same pair for long, but always back to the app before: only the bias can know."""
    apps = "".join((chr(97 + i % 7) + chr(97 + (i + 3) % 7)) * 2 for i in range(60))
    merged = "".join(a for i, a in enumerate(apps) if apps[i - 1 : i] != a)
    hits = sum(
        fed(make("ppm"), usages(merged[:i])).rank(1)[0][0] == merged[i] for i in range(len(merged) - 40, len(merged))
    )
    assert hits >= 20
