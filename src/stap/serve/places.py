"""Where a server is found: its data folder, and in it the token and the address of who runs there."""

from __future__ import annotations

import os
from pathlib import Path

from stap.errors import BadInput
from stap.files import read_bytes

HOST, PORT = "127.0.0.1", 8765
TOKEN_FILE = "token"
ADDRESS_FILE = "address"
SMALL = 1024  # bytes that either has at most


def home() -> Path:
    """This person's own folder. A container may run us as a number that nobody has."""
    try:
        return Path.home()
    except RuntimeError:
        raise BadInput("$HOME", "not set, and this user has no home", "set it, or name a folder with --data") from None


def whole(path: str) -> Path:
    """From the root, with ~ and ~NAME as a shell has them."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:
        raise BadInput(path, "no such home", "write the whole path") from None


def data_folder() -> Path:
    """Where data of programs goes on this system."""
    return Path(os.environ.get("XDG_DATA_HOME") or home() / ".local" / "share") / "stap"


def address_of(folder: Path) -> str:
    """Where the server of a data folder listens, or did when it last ran."""
    path = folder / ADDRESS_FILE
    return read_bytes(path, SMALL).decode("ascii", "replace").strip() if path.exists() else f"http://{HOST}:{PORT}"


def secret_of(folder: Path) -> str:
    """Its token, for who may read it."""
    if not (folder / TOKEN_FILE).exists():
        raise BadInput(str(folder), "no server has run here", "start `stap serve`, or name its folder with --data")
    return read_bytes(folder / TOKEN_FILE, SMALL).decode("ascii", "replace").strip()
