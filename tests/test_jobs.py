"""Independent jobs: whoever does them, the results are the same; who is killed costs only what he was doing."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stap import jobs, terminal
from stap.errors import BadInput
from stap.jobs import Hands, each

TWO = Hands(2)


def square(number: int) -> int:
    return number * number


def refuse(number: int) -> int:
    raise BadInput("log", f"bad in job {number}", "mend it", row=7)


def stumble() -> int:
    raise ZeroDivisionError("of the job's own")


def diary(folder: Path, name: str) -> int:
    """Note that somebody has begun this job; how often that is by now."""
    with open(folder / name, "a") as file:
        file.write(f"{os.getpid()}\n")
    return len((folder / name).read_text().splitlines())


def begun(folder: Path) -> dict[str, int]:
    return {path.name: len(path.read_text().splitlines()) for path in folder.iterdir()}


def die_at_first(folder: Path, name: str, times: int = 1) -> str:
    """Killed the first times, once the slow one is at work too."""
    if diary(folder, name) <= times:
        while not (folder / "slow").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def slow(folder: Path, others: int = 1, name: str = "slow") -> str:
    """At work until a job has been begun `others` times: not lost when its worker was killed."""
    diary(folder, name)
    while begun(folder).get("killed", 0) < others:
        time.sleep(0.01)
    return name


def sit(folder: Path, name: str) -> None:
    diary(folder, name)
    time.sleep(300)


ORPHANS = """
from functools import partial
from pathlib import Path
import sys
sys.path.insert(0, sys.argv[2])
from stap.jobs import Hands, each
from test_jobs import sit
if __name__ == "__main__":
    list(each([partial(sit, Path(sys.argv[1]), name) for name in "ab"], Hands(2)))
"""


def heard() -> tuple[bool, bool]:
    return bool(terminal.out.quiet), bool(terminal.err.quiet)


@pytest.mark.parametrize("hands", [Hands(), TWO], ids=["alone", "two"])
def test_every_job_is_done_whoever_does_it(hands: Hands) -> None:
    assert dict(each((partial(square, n) for n in range(9)), hands)) == {n: n * n for n in range(9)}
    assert list(each([], hands)) == []


def test_jobs_are_taken_when_there_are_hands_for_them() -> None:
    """A million jobs need not be made before the first one is done."""
    taken: list[int] = []

    def work() -> Iterator[jobs.Job[int]]:
        for number in range(50):
            taken.append(number)
            yield partial(square, number)

    most = 0
    for done, _ in enumerate(each(work(), TWO), 1):
        most = max(most, len(taken) - done)
    assert len(taken) == 50
    assert most < 2 * jobs.AHEAD


def test_a_killed_worker_costs_only_its_job(tmp_path: Path) -> None:
    work = [partial(slow, tmp_path, 2), partial(die_at_first, tmp_path, "killed"), partial(slow, tmp_path, 0, "third")]
    assert dict(each(work, TWO)) == {0: "slow", 1: "killed", 2: "third"}
    assert begun(tmp_path) == {"slow": 1, "killed": 2, "third": 1}


def test_who_is_always_killed_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    with pytest.raises(BadInput, match="killed, 3 times at the same job; if memory ran out, fewer"):
        list(each([partial(die_at_first, tmp_path, "killed", 99)], TWO))
    assert begun(tmp_path)["killed"] == jobs.TRIES


@pytest.mark.parametrize("hands", [Hands(), TWO], ids=["alone", "two"])
def test_what_a_job_raises_ends_them_all(hands: Hands) -> None:
    with pytest.raises(BadInput, match=r"^log, row 7: bad in job 1; mend it$"):
        list(each([partial(refuse, 1)], hands))
    with pytest.raises(ZeroDivisionError, match="of the job's own"):
        list(each([stumble, stumble, stumble], hands))


def test_a_refusal_is_the_same_in_another_process() -> None:
    error = BadInput("log", "bad", "mend it", 3)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (str(copy), copy.where, copy.why, copy.remedy, copy.row) == (str(error), "log", "bad", "mend it", 3)


def test_workers_say_nothing_of_their_own() -> None:
    assert dict(each([heard, heard], TWO)) == {0: (True, True), 1: (True, True)}
    assert heard() == (False, False)


def test_workers_end_when_who_asked_is_killed(tmp_path: Path) -> None:
    """Otherwise whoever begins the work again would meet them at it."""
    script, work = tmp_path / "script.py", tmp_path / "work"
    script.write_text(ORPHANS)
    work.mkdir()
    parent = subprocess.Popen([sys.executable, script, work, Path(__file__).parent])
    end = time.monotonic() + 60
    while len(begun(work)) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    workers = [Path("/proc", path.read_text().strip()) for path in work.iterdir()]
    assert len(workers) == 2
    parent.kill()
    parent.wait()
    while any(map(_lives, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(_lives, workers))


def _lives(process: Path) -> bool:
    """And is no ghost that nobody has buried yet."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
