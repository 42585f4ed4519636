"""The end of a server: whoever is still at work is stopped, and nobody reads what is closed."""

from __future__ import annotations

import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as threads
from time import monotonic, sleep

import pytest

from serve.world import core_of, day, event, send, serving
from stap.errors import BadInput
from stap.serve.core import Core, Settings
from stap.serve.feeds import saying
from stap.serve.imports import Imports
from stap.serve.life import Life
from stap.serve.models import EventIn, Kind
from stap.serve.store import Row, Store

LONG = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000) SELECT count(*) FROM n"
CRASH = """
import sys
from pathlib import Path
from threading import Event, Thread
from time import sleep
from stap.errors import BadInput
from stap.serve.store import Store

store = Store(Path(sys.argv[1]))
store.writing().close()
LONG = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000) SELECT count(*) FROM n"

said = []

def read():
    try:
        store.read(LONG)
    except BadInput as error:
        said.append(error.why)

readers = [Thread(target=read) for _ in range(4)]
for reader in readers:
    reader.start()
sleep(0.5)
store.close()
for reader in readers:
    reader.join()
print(said)
"""


BUSY = """
import sys
from pathlib import Path
from time import sleep

import polars as pl

from stap.serve.core import Settings
from stap.serve.run import serve


class Reading:
    name, state, last = "reading", "running", None

    def run(self, send, stop):
        pl.Series(range(100_000)).map_elements(lambda n: sleep(0.01) or n, return_dtype=pl.Int64)


serve(Settings(Path(sys.argv[1])), 0, [Reading()], lambda address: print(address, flush=True))
"""


EARLY = """
import signal
import sys
from pathlib import Path

from stap.serve import run
from stap.serve.core import Core, Settings


def told(address):
    if sys.argv[2] == "announcing":
        end()


def opened(settings):
    if sys.argv[2] == "opening":
        end()
    return Core(settings)


def end():
    try:
        signal.raise_signal(signal.SIGTERM)
    except SystemExit:
        pass  # as in the callback of a weak reference


run.Core = opened
run.serve(Settings(Path(sys.argv[1])), 0, [], told)
"""


@pytest.mark.parametrize("where", ["opening", "announcing"])
def test_a_signal_before_the_server_is_up_is_not_lost(tmp_path: Path, where: str) -> None:
    command = [sys.executable, "-c", EARLY, str(tmp_path), where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.glob("stap.db-*")), "closed in order"


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_feed_that_reads_a_long_log_does_not_make_the_end_a_crash(tmp_path: Path, ending: int, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http://127.0.0.1:")
            sleep(1.0)
            process.send_signal(ending)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code, said
    assert "KeyboardInterrupt" in said if code else not said


def test_a_long_answer_is_broken_off_and_nothing_crashes(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CRASH, tmp_path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{['the server is ending'] * 4}\n", "")


class Late:
    """A connection whose answer begins only after the first attempt to break it off."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db, self.broken_off = db, Event()
        self.close = db.close

    def interrupt(self) -> None:
        self.db.interrupt()
        self.broken_off.set()

    def execute(self, question: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        assert self.broken_off.wait(30)
        return self.db.execute(question, values)


def test_an_answer_that_begins_while_the_store_closes_is_broken_off_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    store.writing().close()
    late = Late(store._connect(query_only=True))
    monkeypatch.setattr(store, "_free", [late])
    said = list[str]()

    def ask() -> None:
        with pytest.raises(BadInput, match="the server is ending") as refused:
            store.read(LONG)
        said.append(refused.value.why)

    asking = Thread(target=ask)
    asking.start()
    while not store._busy:
        sleep(0.01)
    began = monotonic()
    store.close()
    asking.join()
    assert said
    assert monotonic() - began < 5, "and not until it has counted to the end"


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


def test_a_long_log_that_is_being_read_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, event = Event(), saying.event

    def slowly(kind: Kind, app: str, at: datetime) -> EventIn | None:
        begun.set()
        sleep(0.01)
        return event(kind, app, at)

    monkeypatch.setattr(saying, "event", slowly)
    core = Core(Settings(tmp_path))
    imports = Imports(core)
    imports.demo("me")  # thousands of events
    assert begun.wait(60)
    began = monotonic()
    imports.close()
    imports._reading.shutdown(wait=True)  # as Python does at its end
    assert monotonic() - began < 15, "and not a minute"
    core.close()


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


def test_a_long_history_that_is_being_learned_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core, begun, learn = Core(Settings(tmp_path)), Event(), Life.learn

    def slowly(life: Life, rows: Sequence[Row]) -> None:
        begun.set()
        sleep(0.5)
        learn(life, rows)

    monkeypatch.setattr("stap.serve.store.PART", 10)
    monkeypatch.setattr(Life, "learn", slowly)
    core.take("me", [EventIn.model_validate(each) for each in day(launches=200)], many=True).result()
    making = core.sessions.anew(core.user("me"), "me")
    assert begun.wait(30)
    began = monotonic()
    core.close()
    assert monotonic() - began < 10, "and not 20"
    with pytest.raises(BadInput, match="the server is ending"):
        making.result()


def test_threads_that_come_and_go_leave_no_connections(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.writing().close()
    for _ in range(50):
        thread = Thread(target=store.people)
        thread.start()
        thread.join()
    assert len(list(Path("/proc/self/fd").iterdir())) < 200
    assert len(store._free) == 1
    store.close()


def test_a_client_that_leaves_ends_no_work_and_not_the_writer(tmp_path: Path) -> None:
    core, going, go_on = Core(Settings(tmp_path)), Event(), Event()

    def slowly(_: object) -> None:
        going.set()
        go_on.wait(30)

    core.writer.submit(slowly)
    assert going.wait(30)
    left = core.writer.submit(lambda db: db.execute("SELECT 1").fetchone()[0])
    taken = core.take("me", [EventIn.model_validate(event(0, "Mail", 0))])
    assert not left.cancel()
    assert not taken.cancel()
    go_on.set()
    assert (left.result(30), taken.result(30)) == (1, 1)
    core.close()


@pytest.mark.slow
def test_a_terminal_that_is_closed_takes_its_server_with_it(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "stap", "serve", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        try:
            said = b""
            while b"stap serves at" not in said:
                said += os.read(ours, 200)
            process.send_signal(signal.SIGHUP)
            assert process.wait(30) in (0, -signal.SIGTERM)
        finally:
            process.kill()
            os.close(ours)
