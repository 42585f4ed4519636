"""What can be trained.

paper:   V classes at every event, validation picks the best weights.
pure:    the same, of a whole population, with a teacher; the average of the last weights is the model.
shipped: the candidates of a usage, with evidence; the average of the last weights is the model.
"""

from __future__ import annotations

from stap.errors import BadInput
from stap.events import Corpus
from stap.train.config import TrainConfig
from stap.train.tasks.base import Task
from stap.train.tasks.paper import Paper
from stap.train.tasks.pure import Pure
from stap.train.tasks.shipped import Shipped


def make(corpus: Corpus, settings: TrainConfig, where: str, view: Corpus | None = None) -> Task:
    """The task that the settings name. `view`: the same users, as another logger saw them."""
    if settings.task == "shipped":
        return Shipped(corpus, settings, view)
    if settings.task == "pure":
        return Pure(corpus, settings, view)
    if view is not None:
        raise BadInput("--view", "the paper's task knows people by one log each", "leave it out")
    return Paper(corpus, settings, where)
