"""`stap bench` and `stap study`: speed beside a peer, and accuracy on people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from stap import __version__, registry, terminal
from stap.cli import tables
from stap.cli.options import (
    Jobs,
    Json,
    Logs,
    Model,
    Names,
    NoNotifications,
    Ranker,
    Reader,
    load,
    reads_logs,
    write_json,
)
from stap.errors import BadInput
from stap.events import Corpus
from stap.notices import Notice
from stap.studies import launch as by_launch
from stap.studies import launch_curve
from stap.studies import loggers as by_logger
from stap.studies import numbers as by_numbers
from stap.studies import people as by_people
from stap.weights import model_file

BENCHES = ("import", "windows", "stream", "fleet", "training", "muon", "latency", "shipped", "serve", "year", "page")

Trained = Annotated[
    list[str] | None, typer.Option("--data", metavar="LOG", help="What the runs were trained on; may be repeated.")
]
Runs = Annotated[list[Path] | None, typer.Option("--runs", metavar="RUN", help="A fold's folder; may be repeated.")]
Others = Annotated[
    list[str] | None, typer.Option("--zero-shot", metavar="LOG", help="Other people, for --model; may be repeated.")
]

study = typer.Typer(no_args_is_help=True, help="Measure accuracy: who predicts whom how well, and what it depends on.")


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(BENCHES)}.")], json: Json = None
) -> None:
    """Measure speed or memory beside a peer, in the same run.

    Example: `stap bench import --json import.json`
    """
    if name not in BENCHES:
        raise BadInput("stap bench", f"no benchmark {name!r}", f"choose one of {', '.join(BENCHES)}")
    module = load(f"stap.bench.{name}s" if name == "import" else f"stap.bench.{name}")
    terminal.note("measuring, without a bar: it would disturb, as other work on this machine does")
    write_json(module.run(), json, f"bench {name}")


@study.command("people")
@reads_logs
def people(
    read: Reader,
    data: Trained = None,
    runs: Runs = None,
    zero_shot: Others = None,
    model: Model = None,
    ranker: Ranker = None,
    anew: Annotated[
        int | None, typer.Option(min=2, metavar="USAGES", help="Also with everybody beginning anew so often.")
    ] = None,
    jobs: Jobs = 2,
    json: Json = None,
) -> None:
    """Every predictor on people nobody trained on, pooled over folds; or one model on all people of other logs.

    Example: `stap study people --data phones.parquet --runs runs/fold1 --runs runs/fold2`,
    `stap study people --zero-shot others.parquet --model model.safetensors --ranker gbdt.txt`
    """
    groups = _groups("people", read.people, data, runs, zero_shot, model, ranker)
    results = {title: by_people.run(members, anew, jobs) for title, members in groups.items()}
    shown: list[RenderableType] = []
    for title, figures in results.items():
        shown.append(tables.people(title, figures))
        if anew:
            shown.append(tables.anew(f"{title}, anew every {anew} usages", figures["anew"]))
    terminal.out.print(*shown, sep="\n")
    write_json(results, json, "people", *shown)


def _groups(
    study: str,
    read: Callable[[list[str]], Corpus],
    data: list[str] | None,
    runs: list[Path] | None,
    zero_shot: list[str] | None,
    model: Path | None,
    ranker: Path | None = None,
) -> dict[str, list[by_people.Group]]:
    """People nobody trained on: those whom the runs held out, and everybody of other logs."""
    if bool(data) != bool(runs) or bool(zero_shot) != bool(model) or not (data or zero_shot):
        why = "--data goes with --runs, and --zero-shot with --model"
        raise BadInput(f"stap study {study}", why, "give both of one pair, or all four")
    groups = {}
    if data and runs:
        groups["held out"] = by_people.held_out(read(data), runs)
    if zero_shot and model:
        groups["zero-shot"] = [by_people.Group(read(zero_shot), model_file(model), ranker)]
    return groups


@study.command("launch")
@reads_logs
def launch(
    read: Reader,
    data: Trained = None,
    runs: Runs = None,
    zero_shot: Others = None,
    model: Model = None,
    predictors: Names = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="PNG", help="Draw how likely the same app comes again.")
    ] = None,
    no_notifications: NoNotifications = False,
    jobs: Jobs = 2,
    json: Json = None,
) -> None:
    """The launcher's moment on people nobody trained on: `stap` beside classical predictors and launchers' rules.

    Example: `stap study launch --data phones.parquet --runs runs/fold1 --runs runs/fold2`,
    `stap study launch --zero-shot others.parquet --model model.safetensors --figure again.png`
    """
    notices: dict[str, list[Notice]] = {}

    def launches(logs: list[str]) -> Corpus:
        corpus, posted = read.with_notices(logs)
        notices.update({} if no_notifications else posted)
        return corpus

    groups = {
        title: [replace(group, posted=notices) for group in members]
        for title, members in _groups("launch", launches, data, runs, zero_shot, model).items()
    }
    names = predictors.split(",") if predictors else registry.USUAL["launch"]
    results = {title: by_launch.run(members, names, jobs) for title, members in groups.items()}
    shown = [tables.launches(title, figures) for title, figures in results.items()]
    terminal.out.print(*shown, sep="\n")
    if figure is not None:
        curves = {f"{title}, {row['users']} users": row["again"] for title, row in results.items()}
        with terminal.progress("drawing"):
            launch_curve.draw(curves, figure)
        terminal.say(f"wrote {figure}")
    write_json({"version": __version__, "logs": [*(data or []), *(zero_shot or [])], **results}, json, "launch", *shown)


@study.command("loggers")
@reads_logs
def loggers(logs: Logs, read: Reader, model: Model = None, json: Json = None) -> None:
    """The same people seen by loggers that say less: does the model still beat the classics?

    Example: `stap study loggers others.parquet`
    """
    write_json(by_logger.run(read.people(logs), model), json, "loggers")


@study.command("numbers")
@reads_logs
def numbers(logs: Logs, read: Reader, model: Model = None, json: Json = None) -> None:
    """What smaller numbers, other strategies and less room for apps cost in accuracy.

    Example: `stap study numbers others.parquet --model model.safetensors`
    """
    write_json(by_numbers.run(read.people(logs), model), json, "numbers")


@study.command("many-apps")
def many_apps(json: Json = None) -> None:
    """What more apps than virtual indices cost: an invented person and a model that is built, not trained.

    Example: `stap study many-apps`
    """
    write_json(load("stap.studies.many_apps").run(), json, "many-apps")
