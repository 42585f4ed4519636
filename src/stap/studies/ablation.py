"""`stap study ablation`: the same training with and without the shuffle. What does phi, drawn anew, do?

Without it every user keeps one phi for all epochs, so a model can learn by heart who uses what, and does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from stap.describe.canvas import drawing
from stap.evaluate import Terms
from stap.metrics import NAMES
from stap.published import PUBLISHED_ABLATION, PUBLISHED_MODELS
from stap.studies import runs
from stap.studies.experiment import Found, Job, Outcome, Scale
from stap.studies.populations import NamedPeople
from stap.studies.recipe import Trains
from stap.terminal import Grid
from stap.train.config import TrainConfig

KINDS = {"base": True, "non-shuffle": False}
LONGER = 2  # times the recipe's epochs: learning by heart takes its time
PUBLISHED_PAIR = "Tsinghua -> LSApp"
EXPLAINED = (
    "Training (dashed) and validation (solid), by epoch. Without the shuffle a model comes to know by heart the people "
    "it trains on, and is of less use for others."
)


@dataclass(frozen=True)
class Ablation(Trains):
    """Trained on the first people given, tested on the second; or on new people of the first."""

    SEEDS: ClassVar[dict[Scale, int]] = {"paper": 5, "here": 1, "toy": 1}
    name: ClassVar[str] = "ablation"
    question: ClassVar[str] = "What does it do to draw phi anew for every window and epoch?"

    def jobs(self) -> list[Job]:
        return [
            Job(f"{kind}-{seed}", learn, (self.people, self._settings(kind, seed), self.recipe.usages), True)
            for kind in KINDS
            for seed in self.seeds
        ]

    def _settings(self, kind: str, seed: int) -> TrainConfig:
        settings = self.recipe.settings(self.people[0], seed)
        split = (8, 2) if len(self.people) > 1 else (7, 1, 2)
        epochs = settings.epochs * (LONGER if self.recipe.events else 1)
        return replace(settings, shuffle=KINDS[kind], split=split, epochs=epochs, validate_every=1, curriculum=())

    def outcome(self, found: Mapping[str, Found]) -> Outcome:
        tested = {
            kind: [runs.pooled(found[f"{kind}-{seed}"]["test"].values()) for seed in self.seeds] for kind in KINDS
        }
        lines = {kind: [found[f"{kind}-{seed}"]["lines"] for seed in self.seeds] for kind in KINDS}
        lost = {
            name: [base[name] - other[name] for base, other in zip(*tested.values(), strict=True)] for name in NAMES
        }
        rows = [(kind, *(runs.spread([each[name] for each in tested[kind]]) for name in NAMES)) for kind in KINDS]
        rows.append(("lost without it", *(runs.spread(lost[name]) for name in NAMES)))
        base, other = PUBLISHED_MODELS[PUBLISHED_PAIR]["STAP"], PUBLISHED_ABLATION["non-shuffle"]
        rows += [
            (f"{PUBLISHED_PAIR}, base, as published", *(f"{value:.2f}" for value in base)),
            (f"{PUBLISHED_PAIR}, non-shuffle, as published", *(f"{value:.2f}" for value in other)),
            ("lost there, computed", *(f"{a - b:.2f}" for a, b in zip(base, other, strict=True))),
        ]
        said = f"Paper protocol, percent, tested on {self.people[-1].name}, whom nobody trained on."
        table = Grid("With and without the shuffle", ("", *NAMES), rows, said)
        figures = {"test": tested, "lost": lost, "lines": lines}
        return Outcome(figures, (table, _turns(lines)), _draw(lines))


def learn(folder: Path, people: tuple[NamedPeople, ...], settings: TrainConfig, usages: int | None) -> Found:
    corpora = [each.read(usages) for each in people]
    lines = runs.trained(folder, corpora[0], settings)
    tested = corpora[1] if len(corpora) > 1 else runs.testing(folder, corpora[0])
    terms = Terms(settings.model.context, settings.model.vocabulary)
    return {"lines": lines, "test": runs.persons(tested, "stap", "paper", terms, folder)}


def _turns(lines: Mapping[str, list[list[dict[str, Any]]]]) -> Grid:
    """Of the first seed: when validation was at its best, and the gap to training at the end."""
    rows = []
    for kind, of_seeds in lines.items():
        own = of_seeds[0]
        best = min(own, key=lambda line: line["validation"]["loss"])
        last = own[-1]
        rows.append(
            (
                kind,
                str(best["epoch"]),
                f"{best['validation']['loss']:.2f}",
                f"{last['loss']:.2f}",
                f"{last['validation']['loss']:.2f}",
            )
        )
    headers = ("", "best epoch", "its validation loss", "last training loss", "last validation loss")
    return Grid("Where it begins to learn by heart", headers, rows, "First seed.")


def _draw(lines: Mapping[str, list[list[dict[str, Any]]]]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        with drawing(path, (11, 6.5), EXPLAINED) as figure:
            axes = figure.subplots(2, 3, sharex=True).flatten()
            for axis, name in zip(axes, ("loss", *NAMES), strict=True):
                for (kind, of_seeds), colour in zip(lines.items(), ("#0072b2", "#d55e00"), strict=True):
                    for number, own in enumerate(of_seeds):
                        epoch = [line["epoch"] for line in own]
                        training = [line["loss"] if name == "loss" else line["training"][name] for line in own]
                        axis.plot(epoch, training, "--", color=colour, alpha=0.8)
                        values = [line["validation"][name] for line in own]
                        axis.plot(epoch, values, color=colour, label=kind if not number else None)
                axis.set_xscale("log", base=2)
                axis.xaxis.set_major_formatter("{x:g}")
                axis.set_title("cross-entropy" if name == "loss" else f"{name}, percent")
            axes[0].legend(frameon=False)
            for axis in axes[3:]:
                axis.set_xlabel("epoch")

    return draw
