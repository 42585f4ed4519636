"""Elements of a page as text. Whatever is not an element is escaped: names in a result file are only names."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from stap.terminal import harmless


class Html(str):
    """Text that is an element already."""

    __slots__ = ()


VOID = ("br", "meta", "line", "path", "rect", "circle", "polyline")  # nothing goes inside


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """<name ...>children</name>. `class_` is class, `data_x` is data-x; None is left out, True is the bare name."""
    words = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID and not children:
        return Html(f"<{name}{words}/>")
    return Html(f"<{name}{words}>{joined(children)}</{name}>")


def joined(children: Iterable[object]) -> Html:
    return Html("".join(child if isinstance(child, Html) else text(str(child)) for child in children))


def text(words: str) -> Html:
    return Html(escape("\n".join(map(harmless, words.split("\n"))), quote=False))


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(harmless(str(value)))}"'
