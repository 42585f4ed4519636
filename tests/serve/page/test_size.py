"""Five years of history and 500 apps: the page stays small, and every app can be reached."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from serve.page.visit import PHONE, served, visit

APPS, YEARS, LAUNCHES = 500, 5, 2000


@pytest.mark.slow
def test_five_years_and_500_apps_fit_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    first, step = datetime.now().astimezone() - timedelta(days=365 * YEARS), timedelta(days=365 * YEARS) / LAUNCHES
    with served(tmp_path) as site:
        site.launched(*((f"App {n % APPS if n % 3 else n % 7}", first + n * step) for n in range(LAUNCHES)))
        known = len(site.get("/users/me/statistics")["apps"])
        assert known > 300
        with visit(browser, site.address, PHONE) as page:
            expect(page.locator("#row .card")).to_have_count(5)
            expect(page.locator("#app-list li")).to_have_count(8)
            assert page.evaluate("document.querySelectorAll('*').length") < 2000
            page.get_by_role("button", name=f"Show all {known} apps").click()
            expect(page.locator("#app-list li")).to_have_count(known)
            expect(page.locator("#app-list .open").nth(8)).to_be_focused()  # the first that was not there
            page.get_by_role("searchbox", name="Find an app").fill("app 499")
            expect(page.locator("#app-list li")).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
            earlier = page.get_by_role("button", name="The day before")
            expect(earlier).to_be_enabled()
            earlier.click()
            expect(page.locator("#today-title")).not_to_have_text("Today")
