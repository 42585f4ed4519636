"""Every table and chart in 60 columns: no line is longer, nothing is cut, figures stay whole."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console, RenderableType
from train.made import corpus

from stap import registry, terminal, verdict
from stap.cli import charts, tables
from stap.demo.replay import Frame
from stap.describe import counts, person
from stap.evaluate import Terms, run
from stap.events import UNKNOWN
from stap.metrics import NAMES
from stap.predictors import CLASSICAL
from stap.verdict import Figure

WIDTH = 60
LONG = "com.vendor.department.product.application.name"


def printed(what: RenderableType, width: int = WIDTH) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(what)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def fits(text: str, *words: str, width: int = WIDTH) -> None:
    """Nothing is too long or cut, and every word is there as a whole."""
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for word in words:
        assert word in text.split(), word


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    makers = {name: CLASSICAL[name] for name in CLASSICAL} | {"stap": CLASSICAL["ppm"]}
    return run(corpus(3), makers, "stream", Terms())


def test_the_table_of_predictors(result: dict[str, Any]) -> None:
    shown = printed(tables.evaluation(result))
    pooled, spans = result["predictors"]["blend"]["pooled"], result["predictors"]["blend"]["interval"]
    fits(shown, "predictor", *NAMES, "open", *(f"{pooled[name]:.2f}" for name in NAMES))
    assert "{:.1f}-{:.1f}".format(*spans["HR@1"]) in shown
    assert f"{pooled['n']:,} predictions" in shown


@pytest.mark.parametrize("home", [UNKNOWN, 1])
def test_the_table_of_launches_has_five_columns_and_says_what_was_asked(home: int) -> None:
    people = corpus(3)
    people = replace(people, home=np.full(len(people.app), home, np.int8))
    makers = dict.fromkeys(registry.USUAL["launch"], CLASSICAL["again"])
    result = run(people, makers, "launch", Terms())
    entry = result["predictors"]["stap"]
    shown = printed(tables.evaluation(result))
    hits = [entry["pooled"]["HR@1"], entry["pooled"]["HR@3"], entry["pooled"]["HR@5"], entry["pause"]["HR@1"]]
    fits(shown, "predictor", "HR@1", "HR@3", "HR@5", "after", "once", *(f"{value:.2f}" for value in hits))
    said = " ".join(shown.split())
    assert f"{entry['pooled']['n']:,} launches" in said
    assert f"of the {entry['pause']['n']:,} launches more than a minute after" in said
    if home == UNKNOWN:
        assert shown.count("stap ") == 1, "one block"
        assert "cannot tell which launches came from a home screen" in said
    else:
        assert f"of the {entry['home']['n']:,} from a home screen; resumed: of the 0 where" in said


def test_the_table_by_user_goes_on_below_where_it_is_too_wide(result: dict[str, Any]) -> None:
    named = {name: dict(entry) for name, entry in result["predictors"].items()}
    for entry in named.values():
        entry["users"] = {f"{LONG}.{user}": scores for user, scores in entry["users"].items()}
    shown = printed(tables.by_user({"predictors": named}))
    fits(shown, *CLASSICAL, "stap", "n", *(f"{row['HR@1']:.2f}" for row in named["markov"]["users"].values()))
    assert shown.count("user\n") + shown.count("user ") >= 2, "the names stand beside both parts"
    assert printed(tables.by_user(result), 100).count("\nu0 ") == 1, "and once where there is room"


def test_descriptions_of_many_and_of_one() -> None:
    many = corpus(3)
    fits(printed(tables.description("many.csv", counts.counts(many))), "75%", "max", "usages")
    one = corpus(1)
    figures = counts.counts(one) | {"person": person.portrait(one)}
    figures["person"]["top apps"][0]["app"] = LONG
    shown = printed(tables.description(f"/a/folder/{LONG}/{LONG}.csv", figures))
    fits(shown, f"{figures['person']['top apps'][0]['usages']:,}")
    assert LONG in "".join(shown.split()).replace(f"{figures['person']['top apps'][0]['usages']}{'█' * 24}", "")
    for heading in ("top apps", "hours of the day", "the last week", "the darker, the more usages"):
        assert heading in " ".join(shown.split())


def test_people_beside_the_prior() -> None:
    row = {"statistic": "gap between, minutes", "real": [-15.7, 1234.5, 2541.0], "prior": [13.3, 42.4, 218.2]}
    summary = {"real people": 33, "synthetic people": 300, "typical": 97.0, "statistics": [row | {"inside": 94.0}] * 3}
    fits(printed(tables.comparison(summary)), "-15.7", "1,234", "2,541", "13.3", "42.4", "218.2", "94", "inside")


def test_people_nobody_trained_on(result: dict[str, Any]) -> None:
    scores = {name: entry["pooled"] for name, entry in result["predictors"].items()} | {
        "gbdt": result["predictors"]["ppm"]["pooled"]
    }
    margins = {metric: {"best classical": "blend", "over classical": -1.25, "over gbdt": 0.5} for metric in NAMES}
    table = {"predictors": scores, "margins": margins, "oracle": {"seen before": 96.43}}
    calibration = {"error": 3.03, "foretold": 32.75, "came": 31.35}
    found = {
        "users": 3,
        "pooled": table,
        "first 100": table,
        "worst user": {"user": LONG, "margin": -2.5, "best classical": "blend", "n": 1598},
        "calibration": {"top-1": calibration, "unseen": calibration},
    }
    shown = printed(tables.people("held out", found))
    fits(shown, "-1.25", "+0.50", "gbdt", *NAMES)
    assert "seen before: 96.43" in shown
    fits(printed(tables.anew("held out, anew", {"stretches": 15, "pooled": table})), "+0.50")


def test_benches_and_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(width=WIDTH, file=io.StringIO(), highlight=False)
    monkeypatch.setattr(terminal, "out", console)
    figures = [
        Figure("mfu, mru, previous together", 61_594.0, "usages/s on one core", "at least 20,000", True),
        Figure("500 apps, 100,000 events at random, weights, caches, evidence", 8.25, "MB", "at most 80", False),
    ]
    made = verdict.publish("stream evaluation", figures)
    fits(console.file.getvalue(), "61,594", "8.25", "held", "missed")  # type: ignore[attr-defined]
    assert [row["value"] for row in made["figures"]] == [61_594.0, 8.25]


def test_the_proof_of_adapting() -> None:
    proof = SimpleNamespace(
        positions=2787, loss_before=2.1234, loss_after=2.1001, error=0.0042, hits_before=31.5, hits_after=32.25
    )
    fits(printed(tables.proof(proof)), "2.1234", "0.0042", "31.50", "32.25")


def test_a_ranking_and_a_frame_of_the_demo() -> None:
    ranked = [(LONG, 0.5), ("Mail", 0.25), *((f"app {n}", 0.01) for n in range(10))]
    shown = printed(charts.ranking(ranked, unseen=0.1))
    fits(shown, "50.0", "25.0", "10.0")
    assert "\n 2. Mail " in shown, "places are aligned"
    fits(printed(charts.frame(Frame(datetime(2025, 3, 3, 8), LONG, 7.2, ranked[:5], "Mail"), 3, 7)), "25.0")


def test_hours_and_weeks_by_hand() -> None:
    """One usage at 0 h, four at 13 h; the last week ends on the day of the last usage."""
    hours = charts._hours([1, *[0] * 12, 4, *[0] * 10])
    column = charts.LABEL + 2 * 13
    assert [line.plain[column] for line in hours[:-1]] == ["█"] * charts.TALL
    assert [line.plain[charts.LABEL] for line in hours[:-1]] == [" ", " ", " ", "█"]
    rows = charts._week({"2025-03-03": [0] * 47 + [8], "2025-03-04": [1, 4] + [0] * 46})
    assert rows[0].plain == f"{'Mon 3 Mar':<11}{' ' * 47}█"
    assert rows[1].plain.startswith(f"{'Tue 4 Mar':<11}░▒ ")
    assert np.all([len(row.plain) <= WIDTH for row in rows])
