"""Processes that work for a server end with it, however it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from serve.real import start
from serve.world import day
from stap.serve import adapting, scores

BUSY = """
from stap.serve.worker import questions
print(questions().get(), flush=True)
while True:
    pass
"""
SCORING = b"stap.serve.scoring"


def test_a_process_that_is_busy_ends_when_nobody_is_left_to_ask() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"a": 1}\n{"b": 2}')
        process.stdin.flush()
        assert process.stdout.readline() == b"b'{\"a\": 1}'\n", "a line, and not what is not one yet"
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("command", [scores.COMMAND, adapting.COMMAND])
def test_no_module_of_the_server_s_folder_is_run(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("open('run', 'w').close()")
    subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the process in /proc")
def test_the_process_that_scores_does_not_outlive_a_killed_server(tmp_path: Path) -> None:
    server = start(tmp_path)
    for first in (0, 400, 800):
        server.ask("POST", "/api/v1/users/me/events", {"events": day(first, 400)})
    try:
        until(lambda: server.ask("GET", "/api/v1/users/me/statistics")[0] == 200)
        until(lambda: scoring(server.process.pid) is not None)
        worker = scoring(server.process.pid)
    finally:
        server.kill()
    until(lambda: not alive(worker))


def scoring(parent: int | None) -> Path | None:
    """The process of the server that scores, once it runs its own program."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            of = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if of == parent and SCORING in (place / "cmdline").read_bytes():
                return place
        except OSError:  # it has ended meanwhile
            continue
    return None


def alive(place: Path | None) -> bool:
    try:
        return place is not None and SCORING in (place / "cmdline").read_bytes()
    except OSError:
        return False


def until(holds: Callable[[], bool]) -> None:
    begin = monotonic()
    while not holds():
        assert monotonic() - begin < 60, "it never came to be"
        sleep(0.05)
