"""The command line as a person uses it: a real process, real files, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
from typer.testing import CliRunner, Result

from stap import usage
from stap.cli import app

GOOD = (
    "user,app,start,end\n"
    "u,Mail,2024-05-01 08:00:00,2024-05-01 08:01:00\n"
    "u,Chat,2024-05-01 08:02:00,2024-05-01 08:03:00\n"
)
ROW = "u,Mail,2024-05-01 09:00:00,2024-05-01 09:01:00\n"


def stap(*arguments: str | Path, feed: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stap", *map(str, arguments)]
    done = subprocess.run(command, input=feed, capture_output=True, cwd=cwd, timeout=300)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


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
