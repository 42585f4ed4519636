"""`stap train`, `rival`, `adapt`, `export`: models, from logs to files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from stap import terminal, usage
from stap.cli import tables
from stap.cli.options import Always, Data, Fold, Logs, Model, Reader, View, load, reads_logs
from stap.errors import BadInput
from stap.events import Corpus
from stap.model import export as model_export
from stap.train import presets
from stap.train.people import hold_out
from stap.train.presets import WITHOUT
from stap.weights import model_file


@reads_logs
def train(
    data: Data,
    read: Reader,
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run's folder.")],
    preset: Annotated[
        str | None,
        typer.Option(
            help="Where the settings come from (small). shipped: the model that ships; launch: its launch head, "
            "for a model given with --start; paper: the paper's; pure: its idea, made to learn on a "
            "small machine; small: a quick try of it; tiny: for tests, takes "
            "seconds and learns nothing worth using. Rivals, with a fixed vocabulary: neusa, cosem, maple, "
            "appusage2vec, tgt, and each with -full at its full size.",
            metavar="NAME",
        ),
    ] = None,
    without: Annotated[str | None, typer.Option(metavar="PART", help=f"Leave one out: {', '.join(WITHOUT)}.")] = None,
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML that changes settings.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; its own config.toml counts.")
    ] = False,
    start_or_resume: Annotated[
        bool, typer.Option("--start-or-resume", help="Go on if there is a run, begin one if not: for clusters.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Of split, weights, people, order and phi.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="N runs, of seeds 0 to N - 1, in RUN/0, RUN/1, ...")
    ] = None,
    fold: Fold = None,
    split: Annotated[
        str | None, typer.Option(metavar="A:B[:C]", help="Training : validation : testing, by user, e.g. 7:1:2.")
    ] = None,
    always: Always = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data (not of `shipped`).")] = None,
    context: Annotated[
        int | None, typer.Option(min=2, help="L, in events; shorter windows of the curriculum stay.")
    ] = None,
    no_shuffle: Annotated[
        bool, typer.Option("--no-shuffle", help="One phi per user for all epochs: the paper's ablation.")
    ] = False,
    view: View = None,
    start: Annotated[Path | None, typer.Option(metavar="FILE", help="A model to go on from.")] = None,
    teacher: Annotated[
        Path | None, typer.Option(metavar="FILE|RUN", help="A model whose answers are learned, too (`pure`).")
    ] = None,
) -> None:
    """Train a model on people's logs into a run folder; needs `pip install 'stap[train]'`.

    Example: `stap train --data phones.parquet --out runs/a --preset small --split 7:1:2`, then
    `stap evaluate phones.parquet --run runs/a --protocol paper` scores it on the people kept for testing
    """
    if seeds is not None and seed is not None:
        raise BadInput("--seeds", "given beside --seed", "leave one out")
    begin = "either" if start_or_resume else "resume" if resume else "new"
    given: dict[str, Any] = {"seed": seed, "fold": fold, "epochs": epochs, "split": presets.parse_split(split)}
    for name, path in (("start", start), ("teacher", teacher)):
        given[name] = str(model_file(path)) if path else None
    given |= {"always": usage.names(always), "context": context, "shuffle": False if no_shuffle else None}
    plan = {out: given} if seeds is None else {out / str(each): given | {"seed": each} for each in range(seeds)}
    wanted = {folder: presets.settle(folder, begin, preset, config, without, its) for folder, its in plan.items()}
    run = load("stap.train.run")
    launches = next(iter(wanted.values())).model.launches > 0

    @lru_cache(1)
    def people() -> tuple[Corpus, Corpus | None]:
        everybody = read.launches(data) if launches else read.people(data)
        return everybody, _view(view, everybody, read, launches)

    for folder, settings in wanted.items():
        run.train(people, settings, folder, ", ".join(data), begin)


@reads_logs
def rival(
    data: Data,
    read: Reader,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The trees, as LightGBM's text.")],
    fold: Fold = None,
    always: Always = None,
    view: View = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of the folds, the positions and the trees.")] = 0,
) -> None:
    """Train `gbdt`, boosted trees on the same evidence as the model; needs `pip install 'stap[train]'`.

    Example: `stap rival --data phones.parquet --fold 1/5 --out gbdt.txt`, then
    `stap evaluate others.parquet --predictors blend,gbdt --ranker gbdt.txt`
    """
    trees = load("stap.train.trees")
    people = read.people(data)
    training, _ = hold_out(people, fold or "", seed, usage.names(always) or [])
    seen = _view(view, people, read)
    with terminal.progress("growing trees", trees.TREES) as tick:
        trees.train(training, out, seed, tick=tick, view=seen)
    terminal.say(f"wrote {out}, trained on {len(training.users):,} users")


def _view(logs: list[str] | None, people: Corpus, read: Reader, launches: bool = False) -> Corpus | None:
    """The same users as another logger saw them."""
    if not logs:
        return None
    everybody = Reader(read.options, [])
    seen = everybody.launches(logs) if launches else everybody.people(logs)
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
    where, start = ", ".join(logs), model_file(model)
    corpus = read.launches(logs)
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
    with terminal.progress("writing"):
        model_export.export(source, out, dtype, format)
    terminal.say(f"wrote {out}, {out.stat().st_size / 1e6:.1f} MB")
