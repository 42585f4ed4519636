"""A process that adapts a model to one person of the store: `stap adapt` on their history, and one proof more.

Prints what came of it as JSON. `stap.train.adapt` writes the model only where the held-back tail shows that it helps;
here the engine has to find it no worse either, launch by launch, with all that it learns on the way.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from stap import evaluate, usage
from stap.engine import EngineModel
from stap.errors import BadInput, extra
from stap.events import Corpus, from_table
from stap.registry import Stap
from stap.serve.habits import usages
from stap.serve.life import BEGINNING
from stap.serve.models import clock
from stap.serve.store import Store
from stap.serve.worker import questions

TAIL = 0.3  # of the launches


def adapt(folder: Path, user: int, model: Path, out: Path) -> dict[str, Any]:
    """What was found; `out` is there only where it is to be used."""
    corpus = from_table(_history(Store(folder), user))
    proof = extra("stap.train.adapt").adapt(model, corpus, out, "history")
    found = {"helps": proof.helps, **asdict(proof)}
    if proof.helps:
        (before, tail), (after, _) = (_hits(corpus, each) for each in (model, out))
        found |= {"helps": after >= before, "launch_before": before, "launch_after": after, "launch_tail": tail}
        if after < before:
            out.unlink()
    return found


def _history(store: Store, user: int) -> pl.DataFrame:
    """A usage table of one person, on their own clock."""
    rows = store.after(user, BEGINNING, 0, store.newest(user))
    found = [
        ("me", each.app, *(clock(at, each.offset).replace(tzinfo=None) for at in (each.start, each.end)))
        for each in usages(rows)
        if each.end is not None
    ]
    table = pl.DataFrame(found, schema=usage.SCHEMA, orient="row").sort("start", maintain_order=True)
    return usage.validate(usage.launches(table), "history")


def _hits(corpus: Corpus, model: Path) -> tuple[float, int]:
    """HR@1 in percent at the launcher's moment, on the tail; and how many launches that has."""
    ranks = evaluate.launch(corpus, Stap(EngineModel(model))).rank
    tail = ranks[round((1 - TAIL) * len(ranks)) :]
    return round(100 * float((tail == 1).mean()), 2), len(tail)


def main() -> None:
    os.nice(19)
    questions()  # there are none, but it ends with who could ask
    folder, user, model, out = sys.argv[1:]
    try:
        print(json.dumps(adapt(Path(folder), int(user), Path(model), Path(out))))
    except BadInput as error:
        print(json.dumps({"helps": False, "why": f"{error.why}; {error.remedy}"}))


if __name__ == "__main__":
    main()
