"""The report of the project's own results, as a browser shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import barriers
from playwright.sync_api import Browser, Page

from stap.report import build

RESULTS = Path(__file__).parents[2] / "docs" / "results"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build([RESULTS], tmp_path_factory.mktemp("report"))[0]


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[Page]:
    """Opened from its file; whatever it asks for or complains of is a failure."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: asked.append(message.text))
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.goto(written.as_uri())
    yield page
    assert asked[1:] == []
    page.close()


def test_it_is_light_enough_and_every_chart_is_drawn(page: Page, written: Path) -> None:
    assert written.stat().st_size < 5_000_000
    charts = page.locator("svg[data-chart]")
    assert charts.count() > 10
    assert min(page.evaluate("[...document.querySelectorAll('svg[data-chart]')].map(svg => svg.clientWidth)")) > 300


def test_nobody_is_kept_out_in_dark_or_light_on_a_desk_or_a_phone(page: Page) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert barriers(page) == []
    page.set_viewport_size({"width": 390, "height": 900})
    page.emulate_media(color_scheme="dark")
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_pointing_at_a_figure_tells_its_value_and_where_it_comes_from(page: Page) -> None:
    cell = page.locator("#result-data td.n", has_text="17.76").first
    cell.hover()
    tip = page.locator("#tip")
    assert tip.inner_text().startswith("UbiqLog, mfu\nHR@1: 17.76\ndata.json: stap study data ")
    cell.locator("a").click()
    assert page.url.endswith("#from-data")
    assert page.locator("#from-data a").get_attribute("href") == "results/data.json"


def test_values_of_a_chart_by_pointer_and_by_keys(page: Page) -> None:
    chart = page.locator("#result-timespan svg[data-chart]").first
    chart.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#tip").inner_text()
    assert first.startswith("previous\n")
    assert "UbiqLog, 2013" in first
    assert "HR@1, percent: 22.74" in first
    page.keyboard.press("ArrowRight")
    assert "41.68" in page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.5)
    assert "timespan.json: stap study timespan" in page.locator("#tip").inner_text()


def test_a_choice_of_dark_or_light_holds_and_paper_is_white(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.locator("#theme").click()
    assert page.evaluate(colour) == "rgb(18, 23, 28)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.pdf(format="A4").startswith(b"%PDF")
