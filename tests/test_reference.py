"""The reference figures on the 21 UbiqLog users: import, merging, protocol and metrics held together by one table."""

from __future__ import annotations

import pytest
from shared import shared_log

from stap.evaluate import report, stream
from stap.events import merged
from stap.metrics import NAMES
from stap.predictors import CLASSICAL
from stap.sources import read
from stap.usage import only_users

WOMEN = (2, 5, 7, 13, 14, 15, 16, 17, 18, 19, 21, 23, 24, 29, 30, 31, 32, 33, 34, 35)
USERS = [f"{number}_F" for number in WOMEN] + ["8_M"]
REFERENCE = {
    "mfu": (18.48, 38.45, 51.16, 27.00, 29.89),
    "mru": (0.00, 36.30, 51.20, 15.93, 19.35),
    "previous": (23.01, 45.04, 56.01, 32.57, 35.07),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_simple_predictors_give_the_reference_figures(name: str) -> None:
    table = only_users(read([shared_log("ubiqlog/app_sessions.csv.gz")]).table, USERS, "UbiqLog")
    corpus = merged(table)
    assert len(corpus.app) == 80_052
    pooled = report(stream(corpus, CLASSICAL[name]), "stream")["pooled"]
    assert pooled["n"] == 80_031
    assert [pooled[metric] for metric in NAMES] == pytest.approx(REFERENCE[name], abs=0.05)
