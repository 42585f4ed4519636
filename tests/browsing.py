"""Our pages in a real browser: Debian's chromium (`tests/chromium` installs it), which reaches no other machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HEAVY = ("serious", "critical")
ASK = "axe.run().then(found => found.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html).join(' ')]))"


@contextmanager
def opened() -> Iterator[Browser]:
    """A browser without a window."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path, "no chromium: run tests/chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        try:
            yield browser
        finally:
            browser.close()


def barriers(page: Page) -> list[str]:
    """What axe finds on the page as it stands that keeps somebody out: serious or critical."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text())  # a script tag would be refused
    return [f"{name}: {html[:300]}" for impact, name, html in page.evaluate(ASK) if impact in HEAVY]
