"""Disks that are really full and really read-only: small ones in memory, where this machine lets us mount them.

Where it does not, a full disk is SQLite's own bound, and a read-only one a folder without the right to write.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from serve.world import core_of, day, ranking, send, serving
from stap.demo.person import LOG
from stap.errors import BadInput
from stap.serve import run

SIZE = 6 << 20
BLOCK = 4096
MANY = [{**each, "id": "n" + each["id"], "app": 200 * "x"} for each in day(30, 500)]


@dataclass
class Disk:
    """A place of a few megabytes."""

    path: Path
    mounted: bool

    @property
    def data(self) -> Path:
        return self.path / "data"

    def fill(self, client: TestClient) -> None:
        """To the last block; nothing is freed until `free`."""
        if not self.mounted:
            core_of(client).writer._db.execute("PRAGMA max_page_count = 1")
            return
        with open(self.path / "filler", "wb", buffering=0) as filler:
            for size in (1 << 16, BLOCK):
                try:
                    while filler.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def free(self, client: TestClient) -> None:
        if self.mounted:
            (self.path / "filler").unlink()
        else:
            core_of(client).writer._db.execute("PRAGMA max_page_count = 1000000")

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """While nobody has a file of it open."""
        if self.mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)
        else:
            self.data.chmod(0o500)
        try:
            yield
        finally:
            if self.mounted:
                subprocess.run(["mount", "-o", f"remount,rw,size={SIZE}", str(self.path)], check=True)
            else:
                self.data.chmod(0o700)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(place)]
    try:
        mounted = os.getuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    yield Disk(place, mounted)
    if mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def post(client: TestClient, events: list[dict[str, Any]]) -> Any:
    return client.post("/api/v1/users/me/events", json={"events": events})


def test_on_a_full_disk_nothing_is_kept_by_halves_and_all_questions_are_answered(disk: Disk) -> None:
    questions = [f"/api/v1/users/me/{what}" for what in ("history", "statistics", "export", "why?app=Mail")]
    with serving(disk.data) as client:
        send(client, day())
        before = ranking(client)
        disk.fill(client)
        for _ in range(3):
            refused = post(client, MANY)
            assert refused.status_code == 503, refused.text
            assert "full" in refused.json()["error"]["why"]
            assert refused.json()["error"]["remedy"] == "free some room, then send it again"
        assert ranking(client) == before
        assert [client.get(question).status_code for question in questions] == [200] * 4
        assert client.get("/api/v1/users").json()["users"][0]["events"] == 40
        if disk.mounted:
            answer = client.post("/api/v1/users/me/imports", content=LOG.read_bytes())
            assert answer.status_code == 503, answer.text
            assert answer.json()["error"]["why"] == "No space left on device"
            assert not list((disk.data / "uploads").glob("*/*"))
        disk.free(client)
        assert send(client, MANY) == {"accepted": 1000, "known": 0}
        assert ranking(client)["events"] == 1040


def test_a_server_that_is_stopped_on_a_full_disk_has_lost_nothing(disk: Disk) -> None:
    with serving(disk.data) as client:
        send(client, day())
        wanted = ranking(client)
        disk.fill(client)
        post(client, MANY)
    with serving(disk.data) as client:
        assert ranking(client) == wanted, "it starts on the full disk, too"
        if disk.mounted:
            disk.free(client)
        assert send(client, MANY) == {"accepted": 1000, "known": 0}


def test_a_read_only_disk_is_refused_at_the_start_in_one_line(disk: Disk) -> None:
    with serving(disk.data) as client:
        send(client, day())
        wanted = ranking(client)
    if disk.mounted or os.getuid():  # root writes where it has no right to
        refused = pytest.raises(BadInput, match=r"cannot be used \(.*\); choose another folder with --data")
        with disk.read_only(), refused, run.alone(disk.data):
            pass
    with serving(disk.data) as client:
        assert ranking(client) == wanted
