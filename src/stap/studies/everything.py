"""Every experiment of the paper on the same people, the quick ones first."""

from __future__ import annotations

from pathlib import Path

from stap.studies.ablation import Ablation
from stap.studies.context import Context
from stap.studies.data import Data
from stap.studies.deployment import Deployment
from stap.studies.dynamics import Dynamics
from stap.studies.experiment import Experiment, Scale
from stap.studies.newcomers import Newcomers
from stap.studies.performance import LEAST, Performance
from stap.studies.phis import Phi
from stap.studies.plateau import Plateau
from stap.studies.populations import LONG, NamedPeople, made
from stap.studies.rivals import RivalTable
from stap.studies.theory import Theory
from stap.studies.timespan import Timespan
from stap.studies.vocabulary import Vocabulary


def plan(scale: Scale, people: tuple[NamedPeople, ...], synthetic: int, model: Path) -> list[Experiment]:
    """`model` is measured as it is; the studies that train make their own. Rivals need people to share out."""
    enough = tuple(each for each in people if len(each.read().users) >= LEAST)
    return [
        Data(scale, people),
        Theory(scale),
        Phi(scale, people, model),
        Timespan(scale, people, model),
        Vocabulary(scale, people, model),
        Deployment(scale, people, model),
        Performance(scale, (*people, *made(synthetic))),
        Ablation(scale, people[:2]),
        Context(scale, (*people, *made(synthetic, LONG)), model),
        Dynamics(scale, people[0]),
        Plateau(scale, people[0]),
        *((RivalTable(scale, enough), Newcomers(scale, enough[:1])) if enough else ()),
    ]
