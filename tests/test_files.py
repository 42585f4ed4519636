"""Write beside and rename: rights, links, what is no file, full disks, and many savers of whom some are killed.

STAP_KILLS=1000 pytest -m slow tests/test_files.py kills more often.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stap import Predictor, usage
from stap.errors import BadInput
from stap.files import clear_drafts, replacing

KILLS = int(os.environ.get("STAP_KILLS", "25"))
BLOCK = 4096
SAVER = """
import sys, itertools
from pathlib import Path
from stap.files import replacing
path, mark = Path(sys.argv[1]), sys.argv[2].encode()
print("ready", flush=True)
sys.stdout = None
for turn in itertools.count():
    with replacing(path) as draft:
        draft.write_bytes(mark * (4096 * (1 + turn % 40)))
"""


def put(path: Path, text: str = "new", private: bool = False) -> None:
    with replacing(path, private) as draft:
        draft.write_text(text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refused(path: Path | str, words: str) -> None:
    with pytest.raises(BadInput) as error:
        put(Path(path))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    """Also where the writer put another file in the draft's place, with rights of its own."""
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.touch()
    with replacing(written) as draft:
        own = draft.with_suffix(".own")
        own.write_text("hello")
        own.chmod(0o600)
        os.replace(own, draft)
    assert written.read_text() == "hello"
    assert written.stat().st_mode == plain.stat().st_mode


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_mode_of_the_old_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    for wanted in (0o600, 0o640, 0o664, 0o400):
        path.unlink(missing_ok=True)
        path.touch(wanted)
        path.chmod(wanted)
        put(path)
        assert mode(path) == wanted
        assert path.read_text() == "new"


def test_a_snapshot_is_its_owner_s_and_a_draft_is_nobody_else_s(tmp_path: Path) -> None:
    Predictor.load().save(tmp_path / "me.state")
    assert mode(tmp_path / "me.state") == 0o600
    with replacing(tmp_path / "open to all") as draft:
        assert mode(draft) == 0o600
        draft.touch()


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    real, link, further = tmp_path / "folder" / "real", tmp_path / "link", tmp_path / "further"
    link.symlink_to(real)
    further.symlink_to("link")
    for text in ("first", "second"):
        put(further, text)
        assert further.is_symlink()
        assert link.is_symlink()
        assert not real.is_symlink()
        assert real.read_text() == text


def test_a_draft_never_follows_a_link_that_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".x.guessed.draft").symlink_to(victim)
    refused(tmp_path / "x", "cannot write here (File exists)")
    assert victim.read_text() == "mine"


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    device = Path("/dev/null")
    if os.geteuid() == 0:  # who could replace the real one
        device = tmp_path_factory.mktemp("devices") / "null"
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to the pipe").symlink_to("pipe")
    refused(tmp_path, "it is a folder")
    refused(tmp_path / "pipe", "it is no regular file")
    refused(tmp_path / "to the pipe", "it is no regular file")
    refused(tmp_path / "loop", "it is no regular file")
    refused(device, "it is no regular file")
    refused(tmp_path / "no" / "folder", "No such file or directory")
    refused(tmp_path / ("x" * 300), "File name too long")
    refused("a\0b", "no possible file name")
    refused("a\ud800b", "no possible file name")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop", "pipe", "to the pipe"]


def test_long_names_and_names_that_are_patterns(tmp_path: Path) -> None:
    for name in ("ü" * 120, "x" * 250, "[a-z]*?"):
        put(tmp_path / name)
        assert (tmp_path / name).read_text() == "new"


def test_drafts_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    path = tmp_path / "state"
    (tmp_path / ".state.0123456789abcdef.draft").write_text("half")
    (tmp_path / ".other.0123456789abcdef.draft").write_text("half")
    (tmp_path / ".state.mine").write_text("nobody's draft")
    with replacing(path) as alive:
        alive.write_text("alive")
        put(path, "quick")
        clear_drafts(tmp_path)
        assert alive.exists()
        assert not (tmp_path / ".other.0123456789abcdef.draft").exists()
    assert path.read_text() == "alive"
    assert sorted(each.name for each in tmp_path.iterdir()) == [".state.mine", "state"]


def test_a_draft_that_a_cleaner_took_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, turns = fcntl.flock, iter(range(9))

    def late(handle: int, how: int) -> None:
        if next(turns) == 0:
            clear_first(tmp_path)
        flock(handle, how)

    def clear_first(folder: Path) -> None:
        for draft in folder.glob(".*.draft"):
            draft.unlink()

    monkeypatch.setattr("fcntl.flock", late)
    put(tmp_path / "x")
    assert (tmp_path / "x").read_text() == "new"


def test_file_and_folder_are_synced_before_anybody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        happened.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def replaced(old: Any, new: Any) -> None:
        happened.append("rename")
        replace(old, new)

    monkeypatch.setattr("os.fsync", synced)
    monkeypatch.setattr("os.replace", replaced)
    put(tmp_path / "x")
    assert happened == ["file", "rename", "folder"]


@pytest.mark.parametrize("call", ["os.open", "os.fchmod", "os.fsync", "os.replace"])
def test_whatever_the_system_refuses_the_old_file_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "kept"
    path.write_text("old")

    def fail(*_: object, **__: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(call, fail)
        refused(path, "cannot write here (Input/output error); choose another place")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


WRITES = {
    "snapshot": "from stap import Predictor; Predictor.load().save(path)",
    "parquet": "from made import table; from stap import usage; usage.save(table(), path.with_suffix('.parquet'))",
    "csv": "from made import table; from stap import usage; usage.save(table(), path.with_suffix('.csv'))",
    "model": "from stap.model.weights import write; import numpy; write({'a': numpy.zeros(99999)}, {}, path)",
    "figure": "from stap.describe.canvas import drawing\nwith drawing(path, (4, 4), ''): pass",
    "json": "from stap.cli.options import write_json; write_json({'a': list(range(20000))}, path)",
}
FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from stap.errors import BadInput
path = Path(sys.argv[1])
try:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    exec(sys.argv[2])
except BadInput as error:
    sys.exit(f"refused: {error}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", WRITES)
def test_no_room_is_one_line_and_the_old_file_stays(what: str, tmp_path: Path) -> None:
    """The limit on a file's size stands for a full disk: the write fails half way."""
    paths = [tmp_path / f"out{ending}" for ending in ("", ".parquet", ".csv")]
    for path in paths:
        path.write_text("old")
    command = [sys.executable, "-c", FULL, str(paths[0]), WRITES[what], str(Path(__file__).parent / "train")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("refused: ")
    assert "cannot write here" in done.stderr
    assert [path.read_text() for path in paths] == ["old"] * 3
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk and become somebody else")
def test_a_full_disk_and_a_folder_of_somebody_else_s(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        put(disk / "x", "old")
        with pytest.raises(BadInput, match="No space left on device"):
            put(disk / "x", "n" * 100_000)
        assert (disk / "x").read_text() == "old"
        assert [path.name for path in disk.iterdir()] == ["x"]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_one_may_not_write_to() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x"
        path.write_text("old")
        path.parent.chmod(0o555)
        child = os.fork()
        if not child:
            try:
                os.setuid(65534 if os.geteuid() == 0 else os.geteuid())  # root may write everywhere
                put(path)
            except BadInput as error:
                os._exit(7 if "cannot write here (Permission denied)" in str(error) else 8)
            finally:
                os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert path.read_text() == "old"
        path.parent.chmod(0o755)


def test_threads_that_save_to_one_path_never_tear_it(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("start")
    failures: list[BaseException] = []

    def save(mark: str) -> None:
        try:
            for turn in range(60):
                put(path, mark * (BLOCK * (1 + turn % 9)))
        except BaseException as error:
            failures.append(error)

    savers = [threading.Thread(target=save, args=(mark,)) for mark in "abcd"]
    for saver in savers:
        saver.start()
    reads = 0
    while any(saver.is_alive() for saver in savers):
        check(path.read_bytes())
        reads += 1
    assert not failures
    assert reads > 20
    assert list(tmp_path.iterdir()) == [path]


def check(state: bytes) -> None:
    """One saver's, and whole."""
    assert state == b"start" or (len(state) % BLOCK == 0 and state and set(state) == {state[0]}), "torn"


@pytest.mark.slow
def test_killed_savers_on_one_path_tear_nothing_and_lose_nothing(tmp_path: Path) -> None:
    """Two processes save all the time; again and again one is killed at any moment, and another takes its place."""
    path = tmp_path / "state"
    path.write_text("start")

    def start(mark: str) -> subprocess.Popen[bytes]:
        saver = subprocess.Popen([sys.executable, "-S", "-c", SAVER, str(path), mark], env=env, stdout=subprocess.PIPE)
        assert saver.stdout
        with saver.stdout as said:
            said.readline()
        return saver

    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    savers = [start("a"), start("b")]
    most = 0
    for turn in range(KILLS):
        for _ in range(1 + turn * 7919 % 23):
            check(path.read_bytes())
        dead = savers[turn % 2]
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        check(path.read_bytes())
        most = max(most, len(list(tmp_path.iterdir())))
        savers[turn % 2] = start("ab"[turn % 2])
    for saver in savers:
        saver.kill()
        saver.wait()
    check(path.read_bytes())
    assert most <= 4, "drafts of the dead are cleaned: at most those of two, and one just killed"
    put(path)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_import_left_is_cleaned_by_the_next(tmp_path: Path) -> None:
    now = datetime(2024, 5, 1)
    table = pl.DataFrame({"user": ["u"], "app": ["a"], "start": [now], "end": [now]})
    (tmp_path / ".log.csv.00000000.draft").write_text("half")
    usage.save(table, tmp_path / "log.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
