"""The one error a person can cause. The command line prints it as one line and exits with 2."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unicodedata import category

HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, halves of pairs, line separators
JOINERS = "\u200c\u200d"  # format characters that words and emoji are made with
SHOWN = 60  # characters of a value that a line has room for
EXTRAS = {
    "torch": "train",
    "lightgbm": "train",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "ray": "cluster",
} | dict.fromkeys(("fastapi", "starlette", "pydantic", "uvicorn"), "serve")


class BadInput(Exception):  # noqa: N818 - it names what is bad; every error is an error
    """Something from outside is wrong: names the file, the row where there is one, and the remedy. Always one line."""

    def __init__(self, where: str, why: str, remedy: str, row: int | None = None) -> None:
        place = where if row is None else f"{where}, row {row}"
        super().__init__(harmless(f"{place}: {why}; {remedy}"))
        self.where, self.why, self.remedy, self.row = where, why, remedy, row

    def __reduce__(self) -> tuple[type[BadInput], tuple[str, str, str, int | None]]:
        """From one process to another."""
        return BadInput, (self.where, self.why, self.remedy, self.row)


def harmless(text: str) -> str:
    """Text from outside as a terminal may show it: escapes, control and direction characters are spelled out."""
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if category(char) in HARMFUL and char not in JOINERS else char
        for char in text
    )


def first_line(error: BaseException) -> str:
    """What somebody else's error says, or what it is called."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def short(value: object) -> str:
    """Any value as a line has room for it."""
    try:
        text = repr(value)
    except Exception:  # a number of more digits than Python writes down, or an object that fails
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def extra(module: str) -> Any:
    """Import what an extra brings, or one of our modules that needs it; or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise BadInput("stap", f"{error.name} is not installed", f"pip install 'stap[{EXTRAS[error.name]}]'") from None
