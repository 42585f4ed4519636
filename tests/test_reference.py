"""The reference figures on the 21 UbiqLog users: import, merging, protocol and metrics held together by one table."""

from __future__ import annotations

import pytest
from shared import shared_log

from stap.evaluate import report, stream
from stap.events import from_table
from stap.metrics import NAMES
from stap.predictors import CLASSICAL
from stap.sources import read
from stap.usage import only_users

USERS = "2_F 5_F 7_F 8_M 13_F 14_F 15_F 16_F 17_F 18_F 19_F 21_F 23_F 24_F 29_F 30_F 31_F 32_F 33_F 34_F 35_F".split()
REFERENCE = {
    "mfu": (18.48, 38.45, 51.16, 27.00, 29.89),
    "mru": (0.00, 36.30, 51.20, 15.93, 19.35),
    "previous": (23.01, 45.04, 56.01, 32.57, 35.07),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_simple_predictors_give_the_reference_figures(name: str) -> None:
    table = only_users(read([shared_log("ubiqlog/app_sessions.csv.gz")]).table, USERS, "UbiqLog")
    assert len(table) == 80_052
    pooled = report(stream(from_table(table), CLASSICAL[name]), "stream")["pooled"]
    assert pooled["n"] == 80_031
    assert [pooled[metric] for metric in NAMES] == pytest.approx(REFERENCE[name], abs=0.05)
