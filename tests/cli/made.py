"""The command line as a person uses it: the entry point, real files, exit codes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
from typer.testing import CliRunner, Result

from stap import usage
from stap.cli import app, main

GOOD = (
    "user,app,start,end\n"
    "u,Mail,2024-05-01 08:00:00,2024-05-01 08:01:00\n"
    "u,Chat,2024-05-01 08:02:00,2024-05-01 08:03:00\n"
)
ROW = "u,Mail,2024-05-01 09:00:00,2024-05-01 09:01:00\n"


def stap(*arguments: str | Path, feed: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Through the entry point, within this process: starting one takes longer than most commands do.

    Real processes are in slow tests, and in test_hostile.py with what the system does to their streams.
    """
    command = ["stap", *map(str, arguments)]
    given, said, noted = (io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (feed, b"", b""))
    streams: dict[str, Any] = {"argv": command, "stdin": given, "stdout": said, "stderr": noted}
    with mock.patch.multiple(sys, **streams), mock.patch.dict(os.environ, COLUMNS="80"), chdir(cwd or "."):
        try:
            main()
            code: object = 0
        except SystemExit as done:
            code = done.code or 0
    said.flush()
    noted.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (said, noted)]
    return subprocess.CompletedProcess(command, int(str(code)), *texts)


def started(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as a person starts it."""
    command = [sys.executable, "-m", "stap", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, cwd=cwd, timeout=300, encoding="utf-8", check=False)


def call(*arguments: str | Path) -> Result:
    """The same within this process, where it is enough: far quicker."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write(path: Path, *usages: tuple[str, str]) -> Path:
    """A log of (user, app), a minute each, one after the other."""
    minutes = pl.Series("start", range(len(usages)), pl.Int64) * 120_000_000
    start = (pl.Series("start", minutes) + 1_714_550_400_000_000).cast(usage.TIME)
    users, apps = zip(*usages, strict=True)
    usage.save(pl.DataFrame({"user": users, "app": apps, "start": start, "end": start.dt.offset_by("1m")}), path)
    return path
