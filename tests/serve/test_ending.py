"""The end of a server: whoever is still at work is stopped, and nobody reads what is closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread
from threading import enumerate as threads
from time import sleep

import pytest

from serve.world import core_of, day, send, serving
from stap.errors import BadInput
from stap.serve.core import Core, Settings
from stap.serve.store import Store

CRASH = """
import sys
from pathlib import Path
from threading import Thread
from time import sleep
from stap.errors import BadInput
from stap.serve.store import Store

store = Store(Path(sys.argv[1]))
store.writing().close()
LONG = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000) SELECT count(*) FROM n"

def read():
    try:
        store.read(LONG)
    except BadInput as error:
        print(error.why)

readers = [Thread(target=read) for _ in range(4)]
for reader in readers:
    reader.start()
sleep(0.5)
store.close()
for reader in readers:
    reader.join()
"""


def test_a_long_answer_is_broken_off_and_nothing_crashes(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CRASH, tmp_path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the server is ending\n" * 4, "")


def test_who_asks_a_closed_store_is_refused_and_leaves_nothing_open(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.writing().close()
    assert store.people() == []
    store.close()
    refused = []

    def ask() -> None:  # from a thread that had no connection yet
        with pytest.raises(BadInput, match="the server is ending"):
            store.people()
        refused.append(True)

    asking = Thread(target=ask)
    asking.start()
    asking.join()
    with pytest.raises(BadInput, match="the server is ending"):
        store.people()
    assert refused
    assert [path.name for path in tmp_path.iterdir()] == ["stap.db"]


def test_who_writes_after_the_end_is_refused_and_does_not_wait_for_ever(tmp_path: Path) -> None:
    core = Core(Settings(tmp_path))
    core.close()
    late = core.writer.submit(lambda db: db.execute("SELECT 1"))
    with pytest.raises(BadInput, match="the server is ending"):
        late.result(timeout=5)


@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_scores_that_are_being_counted_end_with_the_server(tmp_path: Path, wait: float) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        core = core_of(client)
        counting = core.scores.count(core.user("me"), "me")
        sleep(wait)  # at once, or while its process starts
    assert counting is not None
    assert counting.done()
    assert not [thread.name for thread in threads() if thread.name.startswith("scores")]


def test_an_import_ends_with_the_server(tmp_path: Path) -> None:
    rows = "".join(f"App{n % 7},2026-03-{n // 400 + 1:02} {n // 60 % 24:02}:{n % 60:02}:00\n" for n in range(8_000))
    with serving(tmp_path) as client:
        response = client.post(
            "/api/v1/users/me/imports",
            content=("app,start\n" + rows).encode(),
            headers={"content-type": "application/octet-stream", "x-file-name": "log.csv"},
        )
        assert response.status_code == 202, response.text
    reading = [thread for thread in threads() if thread.name.startswith("imports")]
    for thread in reading:
        thread.join(timeout=30)
    assert not [thread.name for thread in reading if thread.is_alive()]
