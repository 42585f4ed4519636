"""`stap train`, `recipe`, `rival`, `adapt`, `export`: models, from logs to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from stap import registry, terminal
from stap.cli import tables
from stap.cli.options import Always, Data, Fold, Logs, Model, Reader, View, load, reads_logs
from stap.errors import BadInput
from stap.events import Corpus
from stap.train import config as train_config
from stap.train.folds import hold_out
from stap.train.recipe import PARTS
from stap.train.recipe import PRESETS as RECIPES
from stap.train.recipe import without as leave_out
from stap.weights import shipped

TINY = "`tiny` is for tests: it takes seconds and learns nothing worth using."
Run = Annotated[Path, typer.Option("--out", metavar="RUN", help="The run's folder.")]


@reads_logs
def train(
    data: Data,
    read: Reader,
    out: Run,
    preset: Annotated[
        Literal["paper", "small", "tiny"], typer.Option(help=f"Where the settings come from. {TINY}")
    ] = "small",
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML that changes some.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run is; its own config.toml counts.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of split, weights, order and phi.")] = None,
    fold: Fold = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data.")] = None,
) -> None:
    """Train a model on logs of at least two people into a run folder; needs `pip install 'stap[train]'`.

    Example: `stap train --data phones.parquet --out runs/a --preset small`
    """
    settings = train_config.choose(preset, config, seed, fold, epochs)
    loop = load("stap.train.loop")
    loop.train(read.people(data), settings, out, ", ".join(data), resume)


@reads_logs
def recipe(
    data: Data,
    read: Reader,
    out: Run,
    preset: Annotated[Literal["shipped", "tiny"], typer.Option(help=TINY)] = "shipped",
    without: Annotated[str | None, typer.Option(metavar="PART", help=f"Leave one out: {', '.join(PARTS)}.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run is.")] = False,
    seed: Annotated[int | None, typer.Option(help="Of folds, weights, people, windows and phi.")] = None,
    fold: Fold = None,
    always: Always = "",
    view: View = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Optimiser steps in all.")] = None,
    prior_steps: Annotated[int | None, typer.Option(min=0, help="Of these, on the prior alone, first.")] = None,
    start: Annotated[str | None, typer.Option(metavar="FILE", help="A model to go on from.")] = None,
) -> None:
    """Train the shipped model anew: people of the prior, then real ones among them; needs `pip install 'stap[train]'`.

    Example: `stap recipe --data ubiqlog.parquet --out runs/fold1 --fold 1/5`
    """
    fused = load("stap.train.fused")
    wanted = fused.changed(
        RECIPES[preset], seed=seed, fold=fold, always=always, steps=steps, prior_steps=prior_steps, start=start
    )
    if without is not None:
        wanted = leave_out(wanted, without)
    people = read.people(data)
    made = fused.train(people, wanted, out, resume, _view(view, people, read))
    terminal.note(f"wrote {made}")


@reads_logs
def rival(
    data: Data,
    read: Reader,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The trees, as LightGBM's text.")],
    fold: Fold = None,
    always: Always = "",
    view: View = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds, the positions and the trees.")] = 0,
) -> None:
    """Train `gbdt`, boosted trees on the same evidence as the model; needs `pip install 'stap[train]'`.

    Example: `stap rival --data phones.parquet --fold 1/5 --out gbdt.txt`, then
    `stap evaluate others.parquet --predictors blend,gbdt --ranker gbdt.txt`
    """
    trees = load("stap.train.rival")
    people = read.people(data)
    training, _ = hold_out(people, fold or "", seed, always)
    seen = _view(view, people, read)
    with terminal.progress("growing trees", trees.TREES) as tick:
        trees.train(training, out, seed, tick=tick, view=seen)
    terminal.say(f"wrote {out}, trained on {len(training.users):,} users")


def _view(logs: list[str] | None, people: Corpus, read: Reader) -> Corpus | None:
    """The same users as another logger saw them."""
    if not logs:
        return None
    seen = Reader(read.options, []).people(logs)
    if not set(seen.users) & set(people.users):
        why = f"none of its users, e.g. {seen.users[0]!r}, is in --data"
        raise BadInput("--view", why, "give another log of the same users")
    return seen


@reads_logs
def adapt(
    logs: Logs,
    read: Reader,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The adapted model.")],
    model: Model = None,
) -> None:
    """Fine-tune the shipped model to one person, here and privately; needs `pip install 'stap[train]'`.

    The last 30 % of the log are held back. Only where the adapted model is better on them is it written.

    Example: `stap adapt my-phone.csv -o my.safetensors`, then `stap predict my-phone.csv --model my.safetensors`
    """
    adaptation = load("stap.train.adapt")
    where, start = ", ".join(logs), registry.model_file(model or shipped())
    corpus = read.people(logs)
    with terminal.progress("learning", adaptation.STEPS) as tick:
        proof = adaptation.adapt(start, corpus, out, where, tick)
    terminal.out.print(tables.proof(proof))
    if not proof.helps:
        raise BadInput(where, "the adapted model is not surely better on its tail", "keep the shipped one")
    terminal.note(f"wrote {out}")


def export(
    source: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run's folder (its best model) or a model file.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Where it goes.")],
    dtype: Annotated[Literal["fp32", "fp16", "int8"], typer.Option(help="Of the large matrices.")] = "fp32",
    format: Annotated[
        Literal["safetensors", "onnx"], typer.Option(help="onnx has the cache as inputs and outputs.")
    ] = ("safetensors"),
) -> None:
    """Write a model as a smaller file for the engine, or as ONNX.

    Example: `stap export runs/a -o model.safetensors --dtype int8`
    """
    module = load("stap.model.export")
    with terminal.progress("writing"):
        module.export(source, out, dtype, format)
    terminal.say(f"wrote {out}, {out.stat().st_size / 1e6:.1f} MB")
