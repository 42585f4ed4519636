"""The charts tell what happened: values worked out by hand, read as a screen reader reads them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from browsing import barriers
from playwright.sync_api import Browser, Page, Route, expect

from serve.page.visit import PHONE, served, visit

pytestmark = pytest.mark.slow


def table(page: Page, place: str) -> list[list[str]]:
    """The rows below a chart, opened."""
    page.locator(f"{place} summary").click()
    rows = page.locator(f"{place} tbody tr")
    expect(rows.first).to_be_visible()
    return [row.locator("th, td").all_text_contents() for row in rows.all()]


def test_day_week_and_what_follows_are_those_of_the_launches(browser: Browser, tmp_path: Path) -> None:
    noon = datetime.now().astimezone().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=7)
    launches = [("Mail" if n % 2 else "Chat", noon + timedelta(minutes=10 * n)) for n in range(7)]  # 12:00 to 13:00
    with served(tmp_path) as site:
        site.launched(("Maps", noon - timedelta(days=1)), *launches, minutes=5)
        with visit(browser, site.address) as page:
            day = table(page, "#timeline")  # nothing today, so the last day there was
            assert day == [[app, f"{at:%H:%M}", f"{at + timedelta(minutes=5):%H:%M}", "5 min"] for app, at in launches]
            expect(page.locator("#today-sum")).to_have_text("7 launches, 35 min")
            week = table(page, "#week")
            assert [row[1 + noon.weekday()] for row in week[12:14]] == ["6", "1"]
            assert sum(int(cell) for row in week for cell in row[1:]) == 8
            follow = table(page, "#follow")
            assert sorted(follow) == sorted(
                [["Chat", "Mail", "3", "75 %"], ["Mail", "Chat", "3", "100 %"], ["Maps", "Chat", "1", "100 %"]]
            )
            page.get_by_role("button", name="The day before").click()
            expect(page.locator("#today-sum")).to_have_text("1 launch, 5 min")
            expect(page.locator("#timeline tbody tr")).to_have_count(1)
            expect(page.get_by_role("button", name="The day before")).to_be_disabled()


def test_the_hit_rate_is_that_of_all_launches_and_days_weigh_by_theirs(browser: Browser, tmp_path: Path) -> None:
    days = [("2026-03-02", 10, 0.5, 0.4, 0.3), ("2026-03-03", 30, 0.9, 0.8, 0.5)]
    hits = [dict(zip(("day", "n", "stap", "blend", "again"), day, strict=True)) for day in days]

    def with_hits(route: Route) -> None:
        """The server counts them in a process of its own, which may take its time."""
        told = route.fetch()
        known = {"hits": hits, "hits3": [each | {"stap": 1.0} for each in hits], "hits5": hits}
        route.fulfill(response=told, json=told.json() | known)

    with served(tmp_path) as site:
        site.launched(("Mail", datetime.now().astimezone() - timedelta(minutes=5)))
        with visit(browser, site.address, PHONE) as page:
            page.route("**/statistics", with_hits)
            page.reload()
            figures = page.locator("#hits .figure dd")
            expect(figures).to_have_text(["80 %", "70 %", "45 %"])  # (5 + 27) / 40, (4 + 24) / 40, (3 + 15) / 40
            line = page.get_by_role("slider", name="Hit rate over time")
            line.focus()
            assert line.get_attribute("aria-valuetext") == "3 Mar: STAP 80 %, blend 70 %, again 45 %"
            page.keyboard.press("ArrowLeft")
            assert line.get_attribute("aria-valuetext") == "2 Mar: STAP 50 %, blend 40 %, again 30 %"
            assert table(page, "#hits")[0] == ["2026-03-03", "30", "90 %", "80 %", "50 %"]
            page.get_by_text("top 3").click()
            expect(figures.first).to_have_text("100 %")
            assert barriers(page) == []
