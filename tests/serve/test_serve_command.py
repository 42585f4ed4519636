"""`stap serve` as a person starts it: a real process, its words, its feeds, its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from stap import Client
from stap.errors import BadInput

pytestmark = pytest.mark.slow


def test_the_demo_person_is_there_at_once_and_goes_on_until_it_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stap", "serve", "--demo", "--port", "0", "--data", str(tmp_path / "data")]
    outside = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=outside, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert re.fullmatch(r"stap serves at http://127\.0\.0\.1:\d+/\?token=\S{43}\n", said)
        client = Client(data=tmp_path / "data")
        until(lambda: _events(client) > 2000)
        before = _events(client)
        until(lambda: _events(client) > before)
        assert len(client.rank(5)) == 5
    finally:
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=60)
    assert complaints == ""
    assert process.returncode in (0, -signal.SIGTERM)


def test_lines_from_a_pipe_are_kept_and_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stap", "serve", "--feed", "stdin", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write(b'{"kind": "opened", "app": "Mail", "at": "2026-03-03T08:00:00+01:00"}\nrubbish\n')
        process.stdin.close()
        client = Client(data=tmp_path)
        until(lambda: _events(client) == 1)
        process.terminate()
        assert process.stderr is not None
        complaint = process.stderr.read().decode()
    assert complaint.startswith("feed stdin: standard input, row 2: no JSON; write lines like")
    assert complaint.count("\n") == 1


def _events(client: Client) -> int:
    try:
        return int(json.loads(client._place.ask("GET", f"{client._user}/ranking", client._headers))["events"])
    except BadInput:  # nobody yet, or busy with a long history
        return 0


def until(holds: Callable[[], bool]) -> None:
    begin = monotonic()
    while not holds():
        assert monotonic() - begin < 90, "it never came to be"
        sleep(0.1)
