"""A systemd user unit: the server starts with the session and runs in as small a room as it needs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from stap.errors import BadInput
from stap.files import replacing
from stap.serve.places import home

NAME = "stap.service"
LOCAL = re.compile(r"aw:(https?://)?(localhost|127\.[0-9.]+|\[::1\])([:/]|$)")
MARK = "# Written by `stap serve --install`; `stap serve --uninstall` removes it."
# Nothing here may shrink the set of capabilities: a person's own systemd is not allowed to, and the unit would not
# start. They have none anyway, and NoNewPrivileges keeps it so.
UNIT = """{mark}
[Unit]
Description=Next-app predictions on this machine (stap serve)

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
UMask=0077
# It needs the loopback, its own folder and nothing else.
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={data}
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectHostname=yes
RestrictAddressFamilies={families}
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
{loopback}MemoryMax=2G
TasksMax=512

[Install]
WantedBy=default.target
"""


def place() -> Path:
    """Where a person's own units lie."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config") / "systemd" / "user" / NAME


LOOPBACK = """IPAddressDeny=any
IPAddressAllow=localhost
"""
FAMILIES = "AF_UNIX AF_INET AF_INET6"


def install(options: Sequence[str], data: Path, feeds: Sequence[str] = ()) -> Path:
    """Write the unit that runs `stap serve` with these options; systemd has to be told by whoever wants it.

    What a feed needs it is allowed: an ActivityWatch on another machine, a phone at the USB.
    """
    adb = any(feed.partition(":")[0] == "adb" for feed in feeds)
    far = any(feed.startswith("aw:") and not LOCAL.match(feed) for feed in feeds)
    room = {"loopback": "" if adb or far else LOOPBACK, "families": FAMILIES + " AF_NETLINK" * adb}
    writes = [data.absolute(), *([home() / ".android"] if adb else [])]
    path = place()
    _ours(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)  # a unit whose ReadWritePaths are missing does not start
    command = " ".join(quoted(word) for word in (sys.executable, "-P", "-m", "stap", "serve", *options))
    with replacing(path) as draft:
        places = " ".join(quoted(str(each), path=True) for each in writes)
        draft.write_text(UNIT.format(mark=MARK, command=command, data=places, **room))
    return path


def uninstall() -> Path:
    path = place()
    if not path.exists():
        raise BadInput(str(path), "there is none", "nothing has to be done")
    _ours(path)
    path.unlink()
    return path


def quoted(word: str, path: bool = False) -> str:
    """As systemd reads it back: specifiers, variables (not in paths), quotes, spaces and backslashes are its own."""
    if any(char < " " or char == "\x7f" for char in word):
        raise BadInput(word, "a control character", "leave it out of the unit")
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{word if path else word.replace("$", "$$")}"'


def _ours(path: Path) -> None:
    """Somebody else's unit of this name is left alone."""
    if path.exists() and MARK not in path.read_text(errors="replace"):
        raise BadInput(str(path), "not written by stap", "rename it, or remove it yourself")
