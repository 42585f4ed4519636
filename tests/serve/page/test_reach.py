"""For everybody: axe, keyboard, a narrow phone, dark and light, and names that try to be more than names."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from browsing import barriers
from playwright.sync_api import Browser, Page, expect

from serve.page.visit import APPS, PHONE, WIDE, habits, served, visit

pytestmark = pytest.mark.slow
CONTROLS = """(found) => found.map((each) => {
    const { width, height } = each.getBoundingClientRect();
    return [(each.ariaLabel || each.innerText).trim(), Math.min(width, height)];
})"""
HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "org.example.an.app.with.a.name.that.goes.on.and.on.and.has.no.place.to.break.for.a.long.while"


def whole(page: Page) -> None:
    """All of it is there."""
    expect(page.locator("#row .card").first).to_be_visible()
    for place in ("#timeline", "#week", "#follow"):
        expect(page.locator(f"{place} svg")).to_be_visible()
    expect(page.locator("#app-list li").first).to_be_visible()
    expect(page.locator("#server dl")).to_be_visible()


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide, light", "phone, dark"])
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(
    browser: Browser, tmp_path: Path, size: tuple[int, int], theme: Literal["light", "dark"]
) -> None:
    with served(tmp_path) as site:
        site.launched(*habits(3, (*APPS, LONG)))
        with visit(browser, site.address, size, theme) as page:
            whole(page)
            expect(page.locator("#hits svg")).to_be_visible()  # counted by another process, after all else is there
            for summary in page.locator("summary:visible").all():
                summary.click()
            assert barriers(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
            page.locator("#row button").first.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert barriers(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_a_first_visit(
    browser: Browser, tmp_path: Path, theme: Literal["light", "dark"]
) -> None:
    with served(tmp_path) as site, visit(browser, site.address, PHONE, theme) as page:
        expect(page.get_by_role("heading", name="What comes next?")).to_be_visible()
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_everything_can_be_done_from_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            whole(page)
            page.keyboard.press("Tab")
            expect(page.locator(".skip")).to_be_focused()
            page.keyboard.press("Enter")
            expect(page.locator("main")).to_be_focused()
            page.keyboard.press("Tab")
            expect(page.get_by_role("button", name="Pause", exact=True)).to_be_focused()
            page.keyboard.press("Tab")
            first = page.locator("#row button").first
            expect(first).to_be_focused()
            page.keyboard.press("Enter")
            expect(page.get_by_role("dialog")).to_be_visible()
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_be_hidden()
            expect(first).to_be_focused()

            week = page.get_by_role("slider", name="The week by hour")
            week.focus()
            page.keyboard.press("Home")
            assert (week.get_attribute("aria-valuetext") or "").startswith("Monday, 00:00 to 01:00")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowRight")
            assert (week.get_attribute("aria-valuetext") or "").startswith("Tuesday, 01:00 to 02:00")
            expect(page.locator("#week .readout")).to_contain_text("Tuesday, 01:00 to 02:00")

            page.get_by_role("searchbox", name="Find an app").focus()
            page.keyboard.type("maps")
            expect(page.locator("#app-list li")).to_have_count(1)
            hide = page.get_by_role("button", name="Hide Maps")
            hide.focus()
            page.keyboard.press("Enter")
            expect(page.get_by_role("button", name="Show Maps")).to_be_focused()  # the place is not lost


def test_every_control_has_a_name_and_room_for_a_finger(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address, PHONE) as page:
            whole(page)
            found = page.locator("button:visible, a.button:visible").evaluate_all(CONTROLS)  # at once: the page lives
            assert len(found) > 20
            assert not [name for name, side in found if side < 24 or not name]


def test_the_colours_follow_the_system_until_somebody_chooses(browser: Browser, tmp_path: Path) -> None:
    def paper(page: Page) -> int:
        colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return int(colour.removeprefix("rgb(").split(",")[0])

    with served(tmp_path) as site:
        with visit(browser, site.address, theme="dark") as page:
            assert paper(page) < 60
        with visit(browser, site.address, theme="light") as page:
            assert paper(page) > 200
            page.get_by_role("button", name="Colours: as the system").click()
            page.get_by_role("button", name="Colours: light").click()
            assert paper(page) < 60
            page.reload()
            assert paper(page) < 60


def test_an_apps_name_is_text_wherever_it_stands(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits(3, (HOSTILE, "Mail", "</script><script>alert(2)</script>")))
        with visit(browser, site.address) as page:
            whole(page)
            for summary in page.locator("summary:visible").all():
                summary.click()
            for place in ("#row", "#timeline", "#follow", "#app-list"):
                expect(page.locator(place)).to_contain_text(HOSTILE)
            page.locator("#row .name", has_text=HOSTILE).click()
            expect(page.get_by_role("dialog").get_by_role("heading", name=HOSTILE)).to_be_visible()
            assert page.locator("img").count() == 0
            assert page.locator("script").count() == page.evaluate(
                "fetch('/').then(a => a.text()).then(t => t.split('<script').length - 1)"
            )
