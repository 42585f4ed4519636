"""Train in a child process, SIGKILL it at a random moment, resume, and so on; then let it finish.

A process of its own, because it forks before torch has started any thread: a new child costs milliseconds, not seconds.
Arguments: the run's folder, how many kills, a seed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from stap.train.presets import preset
from stap.train.run import train

from .made import corpus

SETTINGS = replace(preset("tiny"), epochs=6, tokens_per_batch=256, tokens_at_once=128, checkpoint_seconds=0.0)


def start(folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        torch.set_num_threads(2)  # two replicas
        train(corpus(), SETTINGS, folder, "made", "either")
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(folder: Path, kills: int, seed: int) -> None:
    chance, done, most = random.Random(seed), 0, 4.0
    while done < kills:
        pid = start(folder)
        time.sleep(chance.uniform(0.05, most))
        os.kill(pid, signal.SIGKILL)
        code = wait(pid)
        if code == 0:  # it was faster than the kill: the next ones strike sooner, and the run starts over
            most /= 2
            (folder / "last.safetensors").unlink()
        elif code != -signal.SIGKILL:
            sys.exit(f"the resumed run ended by itself with {code}")
        else:
            done += 1
    code = wait(start(folder))
    print(f"{done} kills")
    sys.exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
