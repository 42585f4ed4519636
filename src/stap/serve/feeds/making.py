"""One answer to "make me the feed called X"."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from stap.errors import BadInput
from stap.serve.feeding import Feed
from stap.serve.feeds import adb, aw, folder, lines, replay
from stap.serve.feeds.base import user_named
from stap.serve.feeds.marks import FOLDER, Marks
from stap.serve.places import whole
from stap.sources import Options

KINDS = "aw, aw:URL, adb, adb:SERIAL, folder:PATH, stdin or replay:LOG"


def make(named: str, data: Path, user: str = "me", zone: str | None = None, speed: float = replay.SPEED) -> Feed:
    """What --feed names. Its marks lie in the data folder, so that it goes on where it stopped."""
    if user_named(user) != user:
        raise BadInput(f"--as {user}", "no name of a user", "use 1 to 64 letters, digits, dots, dashes, underscores")
    kind, _, what = named.partition(":")
    if kind == "aw":
        return aw.ActivityWatch(user, _marks(data, named, user), what or aw.URL, zone)
    if kind == "adb":
        return adb.Phone(user, _marks(data, named, user), what or None, zone)
    if kind == "folder" and what:
        path = whole(what)
        return folder.Folder(user, _marks(data, f"folder:{path}", user), path, zone)
    if named == "stdin":
        return lines.Lines(user)
    if kind == "replay" and what:
        return replay.Replay(user, [what], speed, Options(zone=zone))
    raise BadInput(f"--feed {named}", "no such feed", f"use {KINDS}")


def _marks(data: Path, named: str, user: str) -> Marks:
    place = data / FOLDER
    for each in (data, place):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    kind, number = named.partition(":")[0], sha256(f"{named}\0{user}".encode(errors="replace")).hexdigest()[:12]
    return Marks(place / f"{kind}-{number}.json")
