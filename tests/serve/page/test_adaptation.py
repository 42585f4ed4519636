"""A model of one's own on the page: what it gained, the way back, and the way forward again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from browsing import barriers
from playwright.sync_api import Browser, expect

from serve.page.visit import habits, served, visit
from stap.serve.adapting import RECORD
from stap.weights import shipped

pytestmark = pytest.mark.slow
PROOF = {"events": 672, "helps": True, "launch_before": 39.8, "launch_after": 42.25, "launch_tail": 1234}


def test_one_sees_what_an_own_model_gained_and_can_go_back(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
    (tmp_path / "models").mkdir()
    shutil.copy(shipped("pure"), tmp_path / "models" / "1.safetensors")
    (tmp_path / RECORD).write_text(json.dumps({"1": PROOF}))
    with served(tmp_path) as site, visit(browser, site.address) as page:
        panel = page.locator("#adaptation")
        expect(panel.get_by_role("heading", name="Adapted to you")).to_be_visible()
        expect(panel).to_contain_text("1,234 launches, which it had not seen, the first guess was right 42.3 %")
        expect(panel).to_contain_text("instead of 39.8 %")
        assert barriers(page) == []
        panel.get_by_role("button", name="Go back to the shared model").click()
        expect(panel).to_contain_text("You went back")
        assert not site.get("/users/me/adaptation")["adapted"]
        panel.get_by_role("button", name="Let it adapt again").click()
        expect(panel.get_by_role("button")).to_have_count(0)
        assert not site.get("/users/me/adaptation")["declined"]
