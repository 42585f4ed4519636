"""The people an experiment is about, by name: the paper's data sets, or any logs; and what was published of them."""

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
# HR@1, HR@3, HR@5, MRR@3, MRR@5, in percent, as the paper has them. Its MRU puts the current app first.
PUBLISHED = {
    "LSApp": {"mfu": (29.14, 64.42, 80.45, 44.55, 48.24), "mru": (0.00, 79.95, 87.96, 38.37, 40.21)},
    "Tsinghua": {"mfu": (18.55, 40.74, 52.54, 28.23, 30.92), "mru": (0.00, 55.89, 68.10, 25.45, 28.26)},
}


# Trained -> tested; of the rivals there are figures within a data set only.
PUBLISHED_MODELS = {
    "Tsinghua -> LSApp": {"STAP": (68.95, 85.19, 90.55, 76.20, 77.43)},
    "LSApp -> Tsinghua": {"STAP": (42.63, 62.69, 70.65, 51.66, 53.42)},
    "in Tsinghua": {
        "CoSEM": (31.11, 55.97, 65.25, 42.04, 44.16),
        "NeuSA": (44.33, 61.69, 68.12, 52.06, 53.53),
        "MAPLE": (52.28, 74.17, 81.28, 62.06, 63.69),
        "STAP": (49.99, 71.41, 78.87, 59.52, 61.23),
    },
    "in LSApp": {
        "CoSEM": (45.23, 72.43, 81.04, 57.18, 59.18),
        "NeuSA": (68.74, 77.70, 81.35, 72.72, 73.55),
        "MAPLE": (76.44, 88.48, 92.47, 81.81, 82.72),
        "STAP": (71.27, 86.14, 91.05, 77.90, 79.03),
    },
}
PUBLISHED_ABLATION = {  # Tsinghua -> LSApp; the base row is that of PUBLISHED_MODELS
    "non-shuffle": (62.12, 77.59, 80.90, 69.17, 69.93),
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


def made(count: int, usages: tuple[int, int] = prior.USAGES) -> tuple[NamedPeople, ...]:
    """People of the prior as a population, if any."""
    return (NamedPeople(SYNTHETIC, (), count, usages),) if count else ()
