"""The live row: what it shows, that it follows what happens, and that it stands still while it adapts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from browsing import barriers
from playwright.sync_api import Browser, expect

from serve.page.visit import APPS, habits, row, served, visit
from stap.serve import sessions, store
from stap.serve.life import Life
from stap.serve.store import Row


def taken_up(app: str) -> list[tuple[str, datetime]]:
    """It was opened three times in the last ten minutes."""
    return [(app, datetime.now().astimezone() - timedelta(minutes=minutes)) for minutes in (9, 6, 3)]


def test_the_row_is_the_servers_ranking_with_its_reasons(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            expect(page.locator("#row .card")).to_have_count(5)
            told = site.get("/users/me/ranking", k=5)["ranking"]
            assert set(row(page)) == {each["app"] for each in told}
            first = page.locator("#row .card[data-first]")
            expect(first).to_have_count(1)
            expect(first.locator(".name")).to_have_text(told[0]["app"])
            expect(first.locator(".share")).to_have_text(f"{told[0]['probability'] * 100:.0f} %")
            assert all(reason.strip() for reason in page.locator("#row .why").all_text_contents())
            expect(page.locator("#link")).to_have_text("Live")


def test_who_stays_keeps_the_slot_when_something_happens(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            expect(page.locator("#row .card")).to_have_count(5)
            before = row(page)
            absent = next(app for app in APPS if app not in before)
            page.locator("#row button").nth(4).focus()
            site.launched(*taken_up(absent))
            expect(page.locator("#row .name", has_text=re.compile(f"^{absent}$"))).to_have_count(1)  # no reload
            after = row(page)
            assert after != before
            assert all(after[slot] == app for slot, app in enumerate(before) if app in after)
            expect(page.locator("#row button").nth(4)).to_be_focused()


@pytest.mark.slow
def test_a_paused_row_waits(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            expect(page.locator("#row .card")).to_have_count(5)
            before = row(page)
            page.get_by_role("button", name="Pause", exact=True).click()
            site.launched(*taken_up("Brand new"))
            expect(page.locator("#privacy")).to_contain_text("8 apps", timeout=20_000)  # the rest goes on
            assert row(page) == before
            page.get_by_role("button", name="Go on").click()
            expect(page.locator("#row .name", has_text="Brand new")).to_have_count(1)


@pytest.mark.slow
def test_the_page_says_how_far_a_long_history_is_learned(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, go_on, learn = [0], Event(), Life.learn

    def slowly(life: Life, rows: Sequence[Row]) -> None:
        if parts[0] == 1:
            assert go_on.wait(120)
        parts[0] += 1
        learn(life, rows)

    monkeypatch.setattr(sessions, "AT_ONCE", -1)  # nothing is made while a client waits
    monkeypatch.setattr(store, "PART", 100)
    monkeypatch.setattr(Life, "learn", slowly)
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address, refused=True) as page:
            told = page.locator("#learning")
            expect(told).to_contain_text("100 of 672 events")
            expect(page.get_by_label("How far your history is learned")).to_have_attribute("value", str(100 / 672))
            assert barriers(page) == []
            go_on.set()
            expect(page.locator("#row .card")).to_have_count(5)
            expect(page.locator("#app-list li").first).to_be_visible()
            expect(told).to_be_hidden()


@pytest.mark.slow
def test_the_page_says_when_the_server_is_away_and_comes_back_by_itself(browser: Browser, tmp_path: Path) -> None:
    with ExitStack() as first:
        site = first.enter_context(served(tmp_path))
        site.launched(*habits())
        with visit(browser, site.address, refused=True) as page:
            expect(page.locator("#link")).to_have_text("Live")
            first.close()
            expect(page.locator("#link")).to_have_text("Not connected")
            with served(tmp_path, site.port) as again:
                expect(page.locator("#link")).to_have_text("Live")
                again.launched(*taken_up("Brand new"), ids="again")
                expect(page.locator("#row .name", has_text="Brand new")).to_have_count(1)
                expect(page.get_by_role("alert")).to_be_hidden()


def test_without_the_token_the_page_says_what_to_open(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits(1))
        with visit(browser, site.address, token=None, refused=True) as page:
            expect(page.get_by_role("alert")).to_contain_text("the address that `stap serve` printed")
            expect(page.locator("#link")).to_have_text("Locked")
            assert "Mail" not in page.content()


@pytest.mark.slow
def test_several_people_are_looked_at_one_at_a_time(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits(2))
        site.launched(*habits(2, ("Alpha", "Beta", "Gamma")), user="tablet")
        with visit(browser, site.address) as page:
            expect(page.locator("#row .card")).to_have_count(5)
            page.get_by_label("Person or device").select_option("tablet")
            expect(page.locator("#row .card")).to_have_count(3)
            assert set(row(page)) == {"Alpha", "Beta", "Gamma"}
            expect(page.locator("#app-list")).not_to_contain_text("Mail")
            page.reload()
            expect(page.locator("#row .card")).to_have_count(3)  # the choice is remembered
