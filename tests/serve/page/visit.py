"""A real server over a folder, and somebody who visits its page with a real browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from threading import Thread
from time import monotonic, sleep
from typing import Any, Literal

import httpx2
from playwright.sync_api import Browser, Dialog, Page, expect

from stap.serve.app import make_app
from stap.serve.core import Core, Settings
from stap.serve.run import bound, server

TOKEN = "p" * 43
APPS = ("Mail", "Chat", "Maps", "Music", "News", "Bank", "Notes")
WIDE, PHONE = (1280, 900), (360, 740)
expect.set_options(timeout=60_000)  # milliseconds; the machine may be busy


@dataclass
class Site:
    """A server that runs, and its API as a program uses it."""

    port: int
    sent: int = 0
    address: str = field(init=False)
    api: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.address = f"http://127.0.0.1:{self.port}"
        self.api = httpx2.Client(base_url=f"{self.address}/api/v1", headers={"Authorization": f"Bearer {TOKEN}"})

    def get(self, path: str, **params: Any) -> Any:
        while (answer := self.api.get(path, params=params)).status_code == 503:  # a long history is being learned
            sleep(0.1)
        return answer.raise_for_status().json()

    def launched(self, *launches: tuple[str, datetime], minutes: float = 1, user: str = "me", ids: str = "e") -> None:
        """Apps were opened and, so many minutes later, closed."""
        events = []
        for app, start in launches:
            for kind, at in (("opened", start), ("closed", start + timedelta(minutes=minutes))):
                self.sent += 1
                events.append({"id": f"{ids}{self.sent}", "kind": kind, "app": app, "at": at.isoformat()})
        for first in range(0, len(events), 1000):
            body = {"events": events[first : first + 1000]}
            self.api.post(f"/users/{user}/events", json=body).raise_for_status()


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[Site]:
    """A server on a port of the loopback, any that is free, in a thread of its own."""
    with bound(port) as listener:
        core = Core(Settings(folder))
        running = server(make_app(core, TOKEN), core)
        thread = Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        site = Site(listener.getsockname()[1])
        try:
            until = monotonic() + 20
            while not running.started and monotonic() < until:
                sleep(0.01)
            yield site
        finally:
            site.api.close()
            running.should_exit = True
            thread.join()


def habits(days: int = 7, apps: Sequence[str] = APPS) -> list[tuple[str, datetime]]:
    """Launches of the last days, up to half an hour ago, those named first more often."""
    now = datetime.now().astimezone().replace(microsecond=0)
    starts = [now - timedelta(minutes=30 * number) for number in range(48 * days, 0, -1)]
    return list(zip(Random(1).choices(apps, range(len(apps), 0, -1), k=len(starts)), starts, strict=True))


@contextmanager
def visit(
    browser: Browser,
    address: str,
    size: tuple[int, int] = WIDE,
    theme: Literal["dark", "light"] = "light",
    token: str | None = TOKEN,
    refused: bool = False,
) -> Iterator[Page]:
    """The page as somebody sees it. Whatever goes wrong in it, or leaves this machine, is an error.

    `refused`: that the server does not answer as hoped is part of the visit.
    """
    wrong: list[str] = []
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion="reduce"
    )

    def asked_aloud(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    if not refused:
        page.on("console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None)
    page.on("dialog", asked_aloud)
    page.on("request", lambda asked: None if asked.url.startswith(address) else wrong.append(f"left: {asked.url}"))
    try:
        page.goto(address if token is None else f"{address}/?token={token}")
        yield page
        assert not wrong, wrong
    finally:
        context.close()


def row(page: Page) -> list[str]:
    """The apps in the slots, from the left."""
    return page.locator("#row .name").all_text_contents()
