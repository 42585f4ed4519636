"""Predictors compared from Python: a data frame of usages in, a data frame of figures out, pandas or polars alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl

from stap import registry, usage
from stap.errors import BadInput, short
from stap.evaluate import Terms, run
from stap.events import from_table, merged
from stap.metrics import NAMES
from stap.predictors.base import Maker
from stap.predictors.own import Own

Frame = TypeVar("Frame")  # pandas.DataFrame or polars.DataFrame
Chosen = str | Callable[[], Any]  # a name that `stap evaluate` knows, or a class of one's own
WHERE = "compare"


def compare(
    usages: Frame,
    predictors: Iterable[Chosen] | Mapping[str, Chosen] | None = None,
    protocol: Literal["launch", "stream", "paper"] = "launch",
    *,
    by_user: bool = False,
    model: Path | str | None = None,
    seed: int = 0,
) -> Frame:
    """Score predictors on people's usages, as `stap evaluate` does: a row a predictor, in percent.

    `usages` has the columns user, app, start and perhaps end: times on the person's wall clock. `predictors` are names
    and classes of your own; with a mapping they are called as you like. `by_user`: a row a predictor and user.
    """
    if protocol not in registry.USUAL:
        raise BadInput(WHERE, f"no protocol {short(protocol)}", f"choose one of {', '.join(registry.USUAL)}")
    makers = _makers(predictors if predictors is not None else registry.USUAL[protocol], protocol, model, seed)
    table = _records(usages)
    people = merged(usage.validate(usage.merge(table), WHERE)) if protocol != "launch" else from_table(_launches(table))
    result = run(people, makers, protocol, Terms.of(makers.values()))["predictors"]
    rows = [
        {
            "predictor": name,
            **({"user": user} if by_user else {}),
            "n": row["n"],
            **{metric: row[metric] for metric in NAMES},
        }
        for name, entry in result.items()
        for user, row in (entry["users"] if by_user else {"": entry["pooled"]}).items()
    ]
    found = pl.DataFrame(rows)
    return _pandas().DataFrame(found.to_dict(as_series=False)) if _is_pandas(usages) else found  # type: ignore[return-value]


def _makers(
    chosen: Iterable[Chosen] | Mapping[str, Chosen], protocol: str, model: Path | str | None, seed: int
) -> dict[str, Maker]:
    if isinstance(chosen, str):
        raise BadInput(WHERE, f"predictors is {short(chosen)}", "give a list of names and classes")
    named = chosen.items() if isinstance(chosen, Mapping) else ((None, each) for each in chosen)
    makers: dict[str, Maker] = {}
    for name, each in named:
        called = str(name or (each if isinstance(each, str) else getattr(each, "__name__", short(each))))
        if called in makers:
            raise BadInput(WHERE, f"two predictors are called {called!r}", "give a mapping from names to them")
        if isinstance(each, str):
            makers[called] = registry.maker(each, Path(model) if model else None, protocol=protocol, seed=seed)
        elif callable(each):
            makers[called] = Own(each, called)
        else:
            raise BadInput(WHERE, f"{short(each)} is no predictor", "give a name, or a class without calling it")
    if not makers:
        raise BadInput(WHERE, "no predictor is named", "give at least one")
    return makers


def _records(usages: Any) -> pl.DataFrame:
    """The frame in polars, each time on the wall clock that it shows; without an end a usage is an instant."""
    if _is_pandas(usages):
        usages = pl.DataFrame({str(name): usages[name].tolist() for name in usages.columns}, strict=False)
    if not isinstance(usages, pl.DataFrame):
        raise BadInput(
            WHERE, f"{short(usages)} is no data frame", "give one of pandas or polars with user, app, start, end"
        )
    if "end" not in usages.columns and "start" in usages.columns:
        usages = usages.with_columns(pl.col("start").alias("end"))
    zoned = [name for name, kind in usages.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    usages = usages.with_columns(pl.col(name).dt.replace_time_zone(None) for name in zoned)
    return usage.validate(usages, WHERE)


def _launches(table: pl.DataFrame) -> pl.DataFrame:
    """As they are, where the table is of launches already."""
    made = table.sort("user", "start", maintain_order=True) if usage.HOME in table.columns else usage.launches(table)
    return usage.validate(made, WHERE)


def _is_pandas(frame: object) -> bool:
    return "pandas" in sys.modules and isinstance(frame, _pandas().DataFrame)


def _pandas() -> Any:
    return sys.modules["pandas"]
