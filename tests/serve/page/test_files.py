"""The page's files: nothing inline, nothing from elsewhere, no way from a name to markup, all of it loaded at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stap

PAGE = Path(stap.__file__).parent / "serve" / "page"
INDEX = (PAGE / "index.html").read_text()
SCRIPTS = sorted(PAGE.glob("*.js"))
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", 'setAttribute("style')


def test_nothing_stands_inline() -> None:
    assert not re.search(r"<script(?![^>]*\bsrc=)", INDEX)
    assert not re.search(r"<style|\sstyle=|\son\w+=", INDEX)


def test_nothing_comes_from_elsewhere() -> None:
    for path in sorted(PAGE.iterdir()):
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"(?m)(^|\s)//.*$", "", text).replace("*//", ""), path.name
    for address in re.findall(r'(?:src|href)="([^"#]+)"', INDEX):
        assert (PAGE / address.removeprefix("/page/")).is_file(), address


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_text_stays_text(path: Path) -> None:
    assert not [word for word in MARKUP if word in path.read_text()]


def test_every_module_is_asked_for_at_once() -> None:
    """Without this, the browser would learn of each module from the one before."""
    imported = {name for path in SCRIPTS for name in re.findall(r'from "\./([\w.]+)"', path.read_text())}
    assert set(re.findall(r'modulepreload" href="/page/([\w.]+)"', INDEX)) == imported


def test_modules_are_short_and_narrow() -> None:
    for path in [*SCRIPTS, *PAGE.glob("*.css"), PAGE / "index.html"]:
        lines = path.read_text().splitlines()
        assert len(lines) <= 300, path.name
        assert max(map(len, lines)) <= 120, path.name
