"""`stap study`: the paper's experiments, from logs to a result folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stap import terminal
from stap.cli.measure import study as study
from stap.cli.options import Cluster, Jobs, Model, load
from stap.studies.data import Data
from stap.studies.experiment import Experiment, Scale, carry_out
from stap.studies.phis import Phi
from stap.studies.populations import LONG, NamedPeople, made, populations
from stap.studies.theory import Theory
from stap.weights import model_file

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the result goes; done jobs stay done.")]
Size = Annotated[
    Scale,
    typer.Option("--scale", help="paper: on a GPU; here: an hour of two cores; toy: a minute, to see that it runs."),
]
LSApp = Annotated[list[str] | None, typer.Option("--lsapp", metavar="FILE", help="The paper's data set, lsapp.tsv.gz.")]
Tsinghua = Annotated[
    list[str] | None, typer.Option("--tsinghua", metavar="FILE", help="The paper's other one, App_usage_trace.txt.")
]
Named = Annotated[
    list[str] | None, typer.Option("--log", metavar="NAME=LOG", help="Any other people, by a name; may be repeated.")
]
Synthetic = Annotated[
    int, typer.Option(min=0, max=100_000, metavar="N", help="Also so many people of the prior, as a population.")
]


@study.command("theory")
def theory(out: Out, scale: Size = "here", jobs: Jobs = 1, cluster: Cluster = None) -> None:
    """Proposition 1 computed exactly: does who does not know phi come to predict like who does, and how soon?

    Example: `stap study theory --out results/theory --scale toy`
    """
    _carry_out(Theory(scale), out, jobs, cluster)


@study.command("data")
def data(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """The data sets: users, apps, coverage of the vocabulary, and MFU and MRU beside the published rows.

    Example: `stap study data --log phones=phones.parquet --out results/data`
    """
    _carry_out(Data(scale, _people("data", lsapp, tsinghua, log)), out, jobs, cluster)


@study.command("phi")
def phi(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    model: Model = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """The same model and people under many draws of phi: how much of a figure is the luck of the draw?

    Example: `stap study phi --log phones=phones.parquet --model runs/a --out results/phi`
    """
    people = _people("phi", lsapp, tsinghua, log)
    _carry_out(Phi(scale, people, model_file(model)), out, jobs, cluster)


@study.command("performance")
def performance(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    synthetic: Synthetic = 0,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """Trained on some people, how well does it predict others? Every population on every other, and within itself.

    Example: `stap study performance --log a=a.parquet --log b=b.parquet --synthetic 40 --out results/performance`
    """
    people = (*_people("performance", lsapp, tsinghua, log), *made(synthetic))
    _carry_out(load("stap.studies.performance").Performance(scale, people), out, jobs, cluster)


@study.command("ablation")
def ablation(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """The same training with and without the shuffle: on the first people given, tested on the second.

    Example: `stap study ablation --log a=a.parquet --log b=b.parquet --out results/ablation`
    """
    people = _people("ablation", lsapp, tsinghua, log)[:2]
    _carry_out(load("stap.studies.ablation").Ablation(scale, people), out, jobs, cluster)


@study.command("context")
def context(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    synthetic: Synthetic = 0,
    model: Model = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """How much of the past is worth reading? A model for every length; with --model, one that is given less and less.

    Example: `stap study context --log phones=phones.parquet --synthetic 20 --model pure --out results/context`
    """
    people = (*_people("context", lsapp, tsinghua, log), *made(synthetic, LONG))
    own = model_file(model) if model else None
    _carry_out(load("stap.studies.context").Context(scale, people, own), out, jobs, cluster)


@study.command("dynamics")
def dynamics(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """How the paper's own settings learn: a plateau, then a fall. When it comes, and what happens inside.

    Example: `stap study dynamics --log phones=phones.parquet --out results/dynamics`
    """
    people = _people("dynamics", lsapp, tsinghua, log)[0]
    _carry_out(load("stap.studies.dynamics").Dynamics(scale, people), out, jobs, cluster)


@study.command("plateau")
def plateau(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """Why there is a plateau: which switch shortens it by how much, and which half of a trained model ends it.

    Example: `stap study plateau --log phones=phones.parquet --out results/plateau`
    """
    people = _people("plateau", lsapp, tsinghua, log)[0]
    _carry_out(load("stap.studies.plateau").Plateau(scale, people), out, jobs, cluster)


@study.command("timespan")
def timespan(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    model: Model = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """A model of one year's phones on logs of other years.

    Example: `stap study timespan --log phones=phones.parquet --model pure --out results/timespan`
    """
    people = _people("timespan", lsapp, tsinghua, log)
    own = model_file(model)
    _carry_out(load("stap.studies.timespan").Timespan(scale, people, own), out, jobs, cluster)


@study.command("vocabulary")
def vocabulary(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    model: Model = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """People with more apps than there are virtual indices: what does it cost that indices are given on?

    Example: `stap study vocabulary --log phones=phones.parquet --model pure --out results/vocabulary`
    """
    people = _people("vocabulary", lsapp, tsinghua, log)
    own = model_file(model)
    _carry_out(load("stap.studies.vocabulary").Vocabulary(scale, people, own), out, jobs, cluster)


@study.command("deployment")
def deployment(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    model: Model = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """What a prediction costs while a life goes on: the paper's engine and ours, and what the strategies trade.

    Example: `stap study deployment --log phones=phones.parquet --model pure --out results/deployment`
    """
    people = _people("deployment", lsapp, tsinghua, log)
    own = model_file(model)
    _carry_out(load("stap.studies.deployment").Deployment(scale, people, own), out, jobs, cluster)


@study.command("all")
def everything(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    synthetic: Synthetic = 0,
    model: Model = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """Every experiment of the paper, one after the other, each in a folder of its name; goes on where it was stopped.

    Example: `stap study all --lsapp lsapp.tsv.gz --tsinghua App_usage_trace.txt --scale paper --out results`
    """
    people, own = _people("all", lsapp, tsinghua, log), model_file(model)
    plan = load("stap.studies.everything").plan(scale, people, synthetic, own)
    for number, experiment in enumerate(plan, 1):
        terminal.note(f"{number} of {len(plan)}: {experiment.name}. {experiment.question}")
        _carry_out(experiment, out / experiment.name, jobs, cluster)


def _people(
    study: str, lsapp: list[str] | None, tsinghua: list[str] | None, log: list[str] | None
) -> tuple[NamedPeople, ...]:
    return tuple(populations(lsapp or [], tsinghua or [], log or [], study))


def _carry_out(experiment: Experiment, folder: Path, processes: int, cluster: str | None) -> None:
    for table in carry_out(experiment, folder, processes, cluster).tables:
        terminal.out.print(table)
    terminal.say(f"wrote {folder / 'result.json'}, result.md, figure.png, figure.svg")
