"""What can be trained.

paper:   V classes at every event, validation picks the best weights.
pure:    the same, of a whole population, with a teacher; the average of the last weights is the model.
shipped: the candidates of a usage, with evidence; the average of the last weights is the model.
rival:   the apps of a fixed vocabulary, validation picks the best weights.
"""

from __future__ import annotations

from typing import Any

from stap.errors import BadInput
from stap.events import Corpus
from stap.train.config import TrainConfig
from stap.train.people import People, apart, split
from stap.train.tasks.base import Task
from stap.train.tasks.paper import Paper
from stap.train.tasks.pure import Pure
from stap.train.tasks.rival import RivalTask
from stap.train.tasks.shipped import Shipped


def gather(corpus: Corpus, settings: TrainConfig, where: str, view: Corpus | None = None) -> People:
    """Who trains, who not, as the task has it. `view`: the same users, as another logger saw them."""
    if settings.task in ("shipped", "pure"):
        return apart(corpus, settings, view)
    if view is not None:
        raise BadInput("--view", f"the {settings.task} task knows people by one log each", "leave it out")
    return split(corpus, settings, where)


def make(people: People, settings: TrainConfig, where: str) -> Task[Any]:
    """The task that the settings name."""
    if settings.task == "shipped":
        return Shipped(people, settings)
    if settings.task == "rival":
        return RivalTask(people, settings, where)
    return Pure(people, settings) if settings.task == "pure" else Paper(people, settings, where)
