"""`stap study`: the paper's experiments, from logs to a result folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from stap import terminal
from stap.cli.measure import study as study
from stap.cli.options import Cluster, Jobs, Model, load, shares
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
Lengths = Annotated[
    list[int] | None,
    typer.Option("--length", min=2, max=65_536, help="A context length in events instead of all; may be repeated."),
]


@dataclass(frozen=True)
class Lab:
    """Where an experiment is carried out, how large, and by how many; who it is about, where it is about people."""

    out: Path
    scale: Scale
    jobs: int
    cluster: str | None
    given: tuple[list[str], list[str], list[str]] = ([], [], [])

    def people(self, study: str) -> tuple[NamedPeople, ...]:
        return tuple(populations(*self.given, study))

    def carry_out(self, experiment: Experiment, folder: str = "") -> None:
        out = self.out / folder
        for table in carry_out(experiment, out, self.jobs, self.cluster).tables:
            terminal.out.print(table)
        terminal.say(f"wrote {out / 'result.json'}, result.md, figure.png, figure.svg")


def _lab(out: Out, scale: Size = "here", jobs: Jobs = 1, cluster: Cluster = None) -> Lab:
    return Lab(out, scale, jobs, cluster)


def _lab_with_people(
    out: Out,
    lsapp: LSApp = None,
    tsinghua: Tsinghua = None,
    log: Named = None,
    scale: Size = "here",
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> Lab:
    return Lab(out, scale, jobs, cluster, (lsapp or [], tsinghua or [], log or []))


about_people = shares("lab", _lab_with_people)


@study.command("theory")
@shares("lab", _lab)
def theory(lab: Lab) -> None:
    """Proposition 1 computed exactly: does who does not know phi come to predict like who does, and how soon?

    Example: `stap study theory --out results/theory --scale toy`
    """
    lab.carry_out(Theory(lab.scale))


@study.command("data")
@about_people
def data(lab: Lab) -> None:
    """The data sets: users, apps, coverage of the vocabulary, and MFU and MRU beside the published rows.

    Example: `stap study data --log phones=phones.parquet --out results/data`
    """
    lab.carry_out(Data(lab.scale, lab.people("data")))


@study.command("phi")
@about_people
def phi(lab: Lab, model: Model = None) -> None:
    """The same model and people under many draws of phi: how much of a figure is the luck of the draw?

    Example: `stap study phi --log phones=phones.parquet --model runs/a --out results/phi`
    """
    lab.carry_out(Phi(lab.scale, lab.people("phi"), model_file(model)))


@study.command("performance")
@about_people
def performance(lab: Lab, synthetic: Synthetic = 0) -> None:
    """Trained on some people, how well does it predict others? Every population on every other, and within itself.

    Example: `stap study performance --log a=a.parquet --log b=b.parquet --synthetic 40 --out results/performance`
    """
    people = (*lab.people("performance"), *made(synthetic))
    lab.carry_out(load("stap.studies.performance").Performance(lab.scale, people))


@study.command("ablation")
@about_people
def ablation(lab: Lab) -> None:
    """The same training with and without the shuffle: on the first people given, tested on the second.

    Example: `stap study ablation --log a=a.parquet --log b=b.parquet --out results/ablation`
    """
    people = lab.people("ablation")[:2]
    lab.carry_out(load("stap.studies.ablation").Ablation(lab.scale, people))


@study.command("context")
@about_people
def context(lab: Lab, synthetic: Synthetic = 0, model: Model = None, lengths: Lengths = None) -> None:
    """How much of the past is worth reading? A model for every length; with --model, one that is given less and less.

    Example: `stap study context --log phones=phones.parquet --synthetic 20 --model pure --out results/context`
    """
    real = () if synthetic and not any(lab.given) else lab.people("context")
    own = model_file(model) if model else None
    chosen = tuple(sorted(set(lengths or ())))
    lab.carry_out(load("stap.studies.context").Context(lab.scale, (*real, *made(synthetic, LONG)), own, chosen))


@study.command("dynamics")
@about_people
def dynamics(lab: Lab) -> None:
    """How the paper's own settings learn: a plateau, then a fall. When it comes, and what happens inside.

    Example: `stap study dynamics --log phones=phones.parquet --out results/dynamics`
    """
    people = lab.people("dynamics")[0]
    lab.carry_out(load("stap.studies.dynamics").Dynamics(lab.scale, people))


@study.command("plateau")
@about_people
def plateau(lab: Lab) -> None:
    """Why there is a plateau: which switch shortens it by how much, and which half of a trained model ends it.

    Example: `stap study plateau --log phones=phones.parquet --out results/plateau`
    """
    people = lab.people("plateau")[0]
    lab.carry_out(load("stap.studies.plateau").Plateau(lab.scale, people))


@study.command("timespan")
@about_people
def timespan(lab: Lab, model: Model = None) -> None:
    """A model of one year's phones on logs of other years.

    Example: `stap study timespan --log phones=phones.parquet --model pure --out results/timespan`
    """
    people = lab.people("timespan")
    lab.carry_out(load("stap.studies.timespan").Timespan(lab.scale, people, model_file(model)))


@study.command("vocabulary")
@about_people
def vocabulary(lab: Lab, model: Model = None) -> None:
    """People with more apps than there are virtual indices: what does it cost that indices are given on?

    Example: `stap study vocabulary --log phones=phones.parquet --model pure --out results/vocabulary`
    """
    people = lab.people("vocabulary")
    lab.carry_out(load("stap.studies.vocabulary").Vocabulary(lab.scale, people, model_file(model)))


@study.command("deployment")
@about_people
def deployment(lab: Lab, model: Model = None) -> None:
    """What a prediction costs while a life goes on: the paper's engine and ours, and what the strategies trade.

    Example: `stap study deployment --log phones=phones.parquet --model pure --out results/deployment`
    """
    people = lab.people("deployment")
    lab.carry_out(load("stap.studies.deployment").Deployment(lab.scale, people, model_file(model)))


@study.command("rivals")
@about_people
def rivals(lab: Lab) -> None:
    """Models that know apps by name beside everybody else, on people of the same data set whom nobody trained on.

    Example: `stap study rivals --log ubiqlog=everybody.parquet --out results/rivals`
    """
    lab.carry_out(load("stap.studies.rivals").RivalTable(lab.scale, lab.people("rivals")))


@study.command("newcomers")
@about_people
def newcomers(lab: Lab) -> None:
    """What a fixed vocabulary costs while new apps and new people come, on the first people given.

    Example: `stap study newcomers --log ubiqlog=everybody.parquet --out results/newcomers`
    """
    lab.carry_out(load("stap.studies.newcomers").Newcomers(lab.scale, lab.people("newcomers")[:1]))


@study.command("all")
@about_people
def everything(lab: Lab, synthetic: Synthetic = 0, model: Model = None) -> None:
    """Every experiment of the paper, one after the other, each in a folder of its name; goes on where it was stopped.

    Example: `stap study all --lsapp lsapp.tsv.gz --tsinghua App_usage_trace.txt --scale paper --out results`
    """
    people = lab.people("all")
    plan = load("stap.studies.everything").plan(lab.scale, people, synthetic, model_file(model))
    for number, experiment in enumerate(plan, 1):
        terminal.note(f"{number} of {len(plan)}: {experiment.name}. {experiment.question}")
        lab.carry_out(experiment, experiment.name)
