"""The people an experiment is about, by name: the paper's data sets, or any logs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from stap import prior, sources
from stap.errors import BadInput, short
from stap.events import Corpus, merged
from stap.train.people import fingerprint

PAPER = {
    "LSApp": "lsapp.tsv.gz of github.com/aliannejadi/LSApp: 292 users, eight months of 2018, opens and closes",
    "Tsinghua": "App_usage_trace.txt of fi.ee.tsinghua.edu.cn/appusage: 871 users, one week of 2016, times of use only",
}
SYNTHETIC, PRIOR_SEED = "synthetic", 2026
LONG = (4000, 10_000)  # usages of synthetic people whose whole past is read


class NamedPeople(NamedTuple):
    """A population: its name, and its logs; or people of the prior. Every job reads them for itself."""

    name: str
    logs: tuple[str, ...]
    made: int = 0  # people of the prior
    usages: tuple[int, int] = prior.USAGES  # of each of those

    def read(self, most: int | None = None) -> Corpus:
        """With `most`, only everybody's first so many usages."""
        corpus = _made(self.made, self.usages) if self.made else _read(self.logs)
        return corpus if most is None else corpus.first(most)

    def about(self) -> dict[str, str]:
        """What a result depends on: which files, and what is in them."""
        logs = f"{self.made} people of the prior" if self.made else ", ".join(Path(log).name for log in self.logs)
        return {"logs": logs, "fingerprint": fingerprint(self.read())}


@lru_cache(2)
def _made(count: int, usages: tuple[int, int]) -> Corpus:
    return prior.people(count, PRIOR_SEED, usages)


@lru_cache(4)
def _read(logs: tuple[str, ...]) -> Corpus:
    return merged(sources.read(logs, sources.Options(merge_gap=None)).table)


def _there(name: str, files: Sequence[str]) -> None:
    """Whoever has not got the paper's data yet is told where it is."""
    for file in files:
        if file != "-" and not Path(file).exists():
            raise BadInput(file, "no such file", f"check the name, or get {PAPER[name]}")


def populations(lsapp: Sequence[str], tsinghua: Sequence[str], logs: Sequence[str], study: str) -> list[NamedPeople]:
    """From the command line; `logs` are NAME=LOG, and one name may come more than once."""
    found = {name: list(files) for name, files in (("LSApp", lsapp), ("Tsinghua", tsinghua)) if files}
    for name, files in found.items():
        _there(name, files)
    for given in logs:
        name, sign, log = given.partition("=")
        if not (name and sign and log):
            raise BadInput("--log", f"{short(given)} is not NAME=LOG", "write e.g. --log phones=phones.csv")
        found.setdefault(name, []).append(log)
    if not found:
        where = "; ".join(f"--{name.lower()} FILE ({what})" for name, what in PAPER.items())
        raise BadInput(f"stap study {study}", "no people to study", f"give {where}; or any logs as --log NAME=LOG")
    return [NamedPeople(name, tuple(files)) for name, files in found.items()]


def made(count: int, usages: tuple[int, int] = prior.USAGES) -> tuple[NamedPeople, ...]:
    """People of the prior as a population, if any."""
    return (NamedPeople(SYNTHETIC, (), count, usages),) if count else ()
