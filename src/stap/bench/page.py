"""`stap bench page`: until the page of `stap serve` shows its row, beside plotly's packaged script drawing one line.

The person has a heavy year behind them, 200,000 events of 500 apps. The browser is Debian's chromium, and each visit
begins with an empty cache.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from stap.bench.year import lived
from stap.serve.client import Client
from stap.serve.places import HOST
from stap.serve.security import POLICY
from stap.verdict import Figure, publish

LAUNCHES, APPS = 100_000, 500
ROUNDS = 5
USABLE = 200  # milliseconds after the browser says that the page is loaded
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HTML = b"<!doctype html><div id=a></div><script src=plotly.js></script><script src=plot.js></script>"
PATIENCE = 120_000  # milliseconds
PLOT = "Plotly.newPlot('a', [{y: Array.from({length: 365}, (_, n) => n % 30)}])"
WATCH = """
const seen = (name, there) => new MutationObserver((_, watcher) => {
    if (!there()) return;
    watcher.disconnect();
    requestAnimationFrame(() => { window[name] = performance.now(); });
}).observe(document, { childList: true, subtree: true, attributes: true });
seen("row", () => document.querySelector("#row .card, .main-svg path.js-line"));
seen("whole", () => document.querySelector("#app-list li, .main-svg path.js-line"));
window.longest = 0;
new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
}).observe({ type: "longtask", buffered: true });
"""
TOLD = "[performance.getEntriesByType('navigation')[0].loadEventEnd, row, whole, longest]"


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """`stap serve` in a process of its own; its address, with the token, once it knows the person."""
    command = [sys.executable, "-m", "stap", "serve", "--data", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        try:
            until = monotonic() + 300
            while not Client(data=folder).rank(1) and monotonic() < until:
                sleep(0.1)
            yield address
        finally:
            process.terminate()


def timed(browser: Browser, address: str) -> list[float]:
    """Milliseconds from the first request to: loaded, the row, everything; the longest task; and refusals."""
    context = browser.new_context()
    page: Page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda said: refused.append(said.text) if "Content Security Policy" in said.text else None)
    page.add_init_script(WATCH)
    page.goto(address, timeout=PATIENCE)
    while not page.evaluate("Boolean(window.row && window.whole)"):
        page.wait_for_timeout(25)
    told: list[float] = page.evaluate(TOLD)
    context.close()
    return [*told, len(refused)]


class Peer(BaseHTTPRequestHandler):
    """A page with plotly's script and one line, under the policy of ours."""

    def do_GET(self) -> None:
        body, kind = _peer_files().get(self.path, (b"", "text/plain"))
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Security-Policy": POLICY}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: Any) -> None:
        """Nothing."""


@cache
def _peer_files() -> dict[str, tuple[bytes, str]]:
    script = (files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    scripts = {"/plotly.js": script, "/plot.js": PLOT.encode()}
    return {"/": (HTML, "text/html")} | {name: (body, "text/javascript") for name, body in scripts.items()}


@contextmanager
def peer() -> Iterator[str]:
    with ThreadingHTTPServer((HOST, 0), Peer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/"
        server.shutdown()


def run() -> dict[str, Any]:
    path = next(found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name)))
    with TemporaryDirectory(prefix="stap-page-") as name:
        lived(Path(name), LAUNCHES, APPS)
        with running(Path(name)) as ours, peer() as theirs, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=QUIET)
            timed(browser, ours)
            pairs = [(timed(browser, ours), timed(browser, theirs)) for _ in range(ROUNDS)]  # in turn: noise hits both
            browser.close()
    mine, its = (np.median([pair[which] for pair in pairs], axis=0) for which in (0, 1))
    after = median(page[1] - page[0] for page, _ in pairs)
    return publish(
        f"the page with {2 * LAUNCHES:,} events, milliseconds, median of {ROUNDS}",
        [
            Figure.at_most("row, after the page is loaded", after, "ms", USABLE),
            Figure("row, after the first request", float(mine[1]), "ms"),
            Figure("all charts, after the first request", float(mine[2]), "ms"),
            Figure("longest task", float(mine[3]), "ms"),
            Figure("plotly's script: one line, after the first request", float(its[1]), "ms"),
            Figure("plotly's script: longest task", float(its[3]), "ms"),
            Figure("plotly's script: refused by the page's policy", float(its[4]), "times"),
            Figure("ratio: one line of plotly's to our row", median(other[1] / page[1] for page, other in pairs), "x"),
        ],
    )
