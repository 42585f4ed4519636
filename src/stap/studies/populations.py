"""The people an experiment is about, by name: the paper's data sets, or any logs; and what was published of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from stap import sources
from stap.errors import BadInput, short
from stap.events import Corpus, merged
from stap.train.people import fingerprint

PAPER = {
    "LSApp": "lsapp.tsv.gz of github.com/aliannejadi/LSApp: 292 users, eight months of 2018, opens and closes",
    "Tsinghua": "App_usage_trace.txt of fi.ee.tsinghua.edu.cn/appusage: 871 users, one week of 2016, times of use only",
}
# HR@1, HR@3, HR@5, MRR@3, MRR@5, in percent, as the paper has them. Its MRU puts the current app first.
PUBLISHED = {
    "LSApp": {"mfu": (29.14, 64.42, 80.45, 44.55, 48.24), "mru": (0.00, 79.95, 87.96, 38.37, 40.21)},
    "Tsinghua": {"mfu": (18.55, 40.74, 52.54, 28.23, 30.92), "mru": (0.00, 55.89, 68.10, 25.45, 28.26)},
}


class NamedPeople(NamedTuple):
    """A population: its name, and its logs. Every job reads them for itself."""

    name: str
    logs: tuple[str, ...]

    def read(self) -> Corpus:
        return _read(self.logs)

    def about(self) -> dict[str, str]:
        """What a result depends on: which files, and what is in them."""
        return {"logs": ", ".join(Path(log).name for log in self.logs), "fingerprint": fingerprint(self.read())}


@lru_cache(4)
def _read(logs: tuple[str, ...]) -> Corpus:
    return merged(sources.read(logs, sources.Options(merge_gap=None)).table)


def populations(lsapp: Sequence[str], tsinghua: Sequence[str], logs: Sequence[str], study: str) -> list[NamedPeople]:
    """From the command line; `logs` are NAME=LOG, and one name may come more than once."""
    found = {name: list(files) for name, files in (("LSApp", lsapp), ("Tsinghua", tsinghua)) if files}
    for given in logs:
        name, sign, log = given.partition("=")
        if not (name and sign and log):
            raise BadInput("--log", f"{short(given)} is not NAME=LOG", "write e.g. --log phones=phones.csv")
        found.setdefault(name, []).append(log)
    if not found:
        where = "; ".join(f"--{name.lower()} FILE ({what})" for name, what in PAPER.items())
        raise BadInput(f"stap study {study}", "no people to study", f"give {where}; or any logs as --log NAME=LOG")
    return [NamedPeople(name, tuple(files)) for name, files in found.items()]
