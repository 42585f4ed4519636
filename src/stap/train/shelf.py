"""The people of a run in files that all its processes map: what one of them has read is in memory once a node.

RUN/people/PART.FIELD.npy for every array, and names.json. Training knows apps by number, so their names stay behind.
They are written anew whenever a run begins or goes on, and are gone when it is done.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from stap.errors import BadInput
from stap.events import Corpus
from stap.files import replacing
from stap.train.parallel import World
from stap.train.people import People

FOLDER, NAMES = "people", "names.json"
FIELDS = ("offsets", "app", "start", "end", "home", "label", "app_counts")


def shared(gather: Callable[[], People], run: Path, here: World) -> People:
    """The people whom one process gathers, mapped by all; where there is no other, just as they are."""
    if here.size == 1:
        return gather()
    here.first(lambda: save(gather(), run / FOLDER))
    return load(run / FOLDER)


def clear(run: Path) -> None:
    shutil.rmtree(run / FOLDER, ignore_errors=True)


def save(people: People, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(str(folder), f"cannot make this folder ({error.strerror})", "choose another --out") from None
    parts = {name: part for name, part in vars(people).items() if isinstance(part, Corpus)}
    for name, part in parts.items():
        for field in FIELDS:
            with replacing(folder / f"{name}.{field}.npy") as draft, open(draft, "wb") as file:
                np.save(file, getattr(part, field))
    names = {"users": {name: part.users for name, part in parts.items()}, "data": people.data, "number": people.number}
    with replacing(folder / NAMES) as draft:
        draft.write_text(json.dumps(names))


def load(folder: Path) -> People:
    names = json.loads((folder / NAMES).read_text())
    parts = {name: _mapped(folder, name, users) for name, users in names["users"].items()}
    return People(**parts, data=names["data"], number=names["number"])


def _mapped(folder: Path, part: str, users: list[str]) -> Corpus:
    # As plain arrays: a view of what is mapped stays mapped, and a copy of some rows is an array like any other.
    arrays: dict[str, Any] = {
        field: np.asarray(np.load(folder / f"{part}.{field}.npy", mmap_mode="r")) for field in FIELDS
    }
    counts, label = arrays.pop("app_counts"), arrays.pop("label")
    corpus = Corpus(tuple(users), tuple(map(_nameless, counts.tolist())), **arrays)
    vars(corpus).update(label=label, app_counts=counts)  # what it would otherwise compute, in every process
    return corpus


@lru_cache
def _nameless(apps: int) -> tuple[str, ...]:
    return ("",) * apps
