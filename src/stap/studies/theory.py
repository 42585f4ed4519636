"""`stap study theory`: Proposition 1 computed exactly. Does who does not know phi come to predict like who does?

The paper's proof shows that two predictions agree at the symbol that came, and assumes that the posterior converges. No
assumption is needed, and all symbols agree. The mixture over all phi is at least 1/n! of the truth, on every sequence;
so by the chain rule the expected Kullback-Leibler divergence from the truth to the prediction, summed over a whole
life, is at most log n!. Its terms go to 0, and by Pinsker's inequality so does the total variation.

A tiny transformer, trained on shuffled walks of one chain, is then held against the exact predictor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from stap.describe.canvas import GREY, drawing
from stap.errors import extra
from stap.studies.chains import KINDS, Bayes, transitions, walk
from stap.studies.experiment import Experiment, Found, Job, Outcome
from stap.terminal import Grid

COLOURS = {"habits": "#0072b2", "habits, two alike": "#d55e00", "habits, weak": "#009e73", "no habits": "#cc79a7"}
DASHES = {"habits": "-", "habits, two alike": "--", "habits, weak": "-.", "no habits": ":"}
EXPLAINED = (
    "Left: how far the prediction of somebody who does not know phi is from the truth, by the length of what they saw. "
    "Middle: how sure they are of phi. Right: the divergence summed up from the first usage on; the grey line is "
    "the bound that no chain can pass. Where two apps are alike, phi is never known, and the prediction is right "
    "all the same."
)


@dataclass(frozen=True)
class Sizes:
    apps: int
    walks: int
    length: int
    steps: int  # of the tiny model's training


SIZES = {"toy": Sizes(3, 20, 64, 30), "here": Sizes(6, 200, 1024, 800), "paper": Sizes(7, 1000, 4096, 20_000)}


class Theory(Experiment):
    name: ClassVar[str] = "theory"
    question: ClassVar[str] = "Does who does not know phi come to predict like who does, and how soon?"

    def jobs(self) -> list[Job]:
        sizes = SIZES[self.scale]
        exact = [Job(_key(kind), exactly, (kind, sizes.apps, sizes.walks, sizes.length)) for kind in KINDS]
        apps = min(sizes.apps, 4)
        return [*exact, Job("model", trained, (apps, sizes.steps, min(sizes.length, 128), min(sizes.walks, 100)))]

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        sizes, model = SIZES[self.scale], found["model"]
        rows = []
        for kind in KINDS:
            one = found[_key(kind)]
            values = (one["distance"][0], one["distance"][-1], one["posterior"][-1], one["divergence"][-1])
            rows.append((kind, *(f"{value:.4f}" for value in values)))
        headers = ("chain", "at first", f"after {sizes.length:,}", "mass of phi", "divergence")
        most = math.log(math.factorial(sizes.apps))
        bound = f"On average over walks, no chain can pass log {sizes.apps}! = {most:.2f} nats."
        exact = Grid("Distance of Bayes' prediction from the truth, total variation", headers, rows, bound)
        spans = [(n, min(2 * n, len(model["bayes"]) + 1)) for n in (1, 2, 4, 8, 16, 32, 64) if n <= len(model["bayes"])]
        learned = [
            (
                f"{n}-{end - 1}",
                *(f"{np.mean(model[name][n - 1 : end - 1]):.3f}" for name in ("bayes", "model", "distance")),
            )
            for n, end in spans
        ]
        after = ("usages seen", "Bayes", "model", "model from Bayes")
        said = f"Loss in nats an event, of {model['apps']} apps; the truth has {model['entropy']:.3f}."
        tiny = Grid("A tiny model beside the exact predictor", after, learned, said)
        figures = {"chains": {kind: found[_key(kind)] for kind in KINDS}, "model": model}
        return Outcome(figures, (exact, tiny), self._draw(found))

    def _draw(self, found: Mapping[str, Found]) -> Callable[[Path], None]:
        apps = SIZES[self.scale].apps

        def draw(path: Path) -> None:
            with drawing(path, (12, 5), EXPLAINED) as figure:
                axes = figure.subplots(1, 3)
                for kind in KINDS:
                    style = {"color": COLOURS[kind], "linestyle": DASHES[kind], "linewidth": 2.4}
                    one = found[_key(kind)]
                    seen = one["seen"]
                    axes[0].loglog(seen, np.maximum(one["distance"], 1e-6), label=kind, **style)
                    axes[1].semilogx(seen, one["posterior"], gid=kind, **style)
                    axes[2].semilogx(seen, one["divergence"], gid=kind, **style)
                axes[2].axhline(math.log(math.factorial(apps)), color=GREY, linewidth=2, label=f"log {apps}!")
                axes[0].set(title="Prediction", ylabel="distance from the truth", xlabel="usages seen")
                axes[1].set(title="Posterior", ylabel="mass of the true phi", xlabel="usages seen", ylim=(0, 1.02))
                axes[2].set(title="Price", ylabel="divergence in all, nats", xlabel="usages seen")
                axes[0].legend(frameon=False)
                axes[2].legend(frameon=False)

        return draw


def _key(kind: str) -> str:
    return kind.replace(", ", "-").replace(" ", "-")


def exactly(kind: str, apps: int, walks: int, length: int) -> Found:
    """Means over walks, after 1, 2, 4, ... usages: total variation, posterior mass of phi*, summed divergence."""
    marks = [n for n in sorted({2**k for k in range(20)} | {length}) if n <= length]
    sums = np.zeros((3, len(marks)))
    for number in range(walks):
        chances, rng = transitions(kind, apps, number % 20), np.random.default_rng([number, 7])
        phi = rng.permutation(apps)
        bayes, divergence = Bayes(chances), 0.0
        truth_of = int((bayes.phis == phi).all(axis=1).argmax())
        for step, app in enumerate(walk(chances, length, rng), 1):
            bayes.observe(int(phi[app]))
            truth, predicted = bayes.laws[truth_of, bayes.last], bayes.predictive()
            some = truth > 0
            divergence += float((truth[some] * np.log(truth[some] / predicted[some])).sum())
            if step in marks:
                at = marks.index(step)
                sums[:, at] += (0.5 * np.abs(truth - predicted).sum(), bayes.posterior()[truth_of], divergence)
    distance, posterior, divergences = (sums / walks).tolist()
    return {"seen": marks, "distance": distance, "posterior": posterior, "divergence": divergences}


def trained(apps: int, steps: int, length: int, walks: int) -> Found:
    """The same chain for everybody, a phi of their own for each: how near a tiny model comes to Bayes' rule."""
    found: Found = extra("stap.studies.theory_model").run(apps, steps, length, walks)
    return found
