"""Training a model with evidence: people of the prior first, then real people among them.

As in loop.py nothing random happens that does not follow from (seed, step), so a run can be killed and resumed. What is
written as the model is the average of the weights over the last steps.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.optim import Optimizer

from stap.errors import BadInput
from stap.events import Corpus
from stap.files import replacing
from stap.model import weights
from stap.model.fusion import NEVER
from stap.model.transformer import Transformer
from stap.train import checkpoint, optimisers, runlog
from stap.train.checkpoint import Progress
from stap.train.data import fingerprint
from stap.train.display import say_people, steps_bar
from stap.train.folds import hold_out
from stap.train.population import Population
from stap.train.recipe import Recipe
from stap.train.tables import SKIPPED, Moments, Window, collate

MODEL, LAST, LOG = "model.safetensors", "last.safetensors", "log.jsonl"
LOG_EVERY = 50  # steps


@dataclass(frozen=True)
class Answers:
    """Scores of every position's candidates, and what the answer was: N positions that have one."""

    scores: Tensor  # (N, K + 1); (N, K) of a model without evidence
    blend: Tensor  # (N, K) log probabilities
    answer: Tensor  # (N,)

    def loss(self) -> Tensor:
        return F.cross_entropy(self.scores, self.answer, ignore_index=self.scores.shape[1])


def answers(model: Transformer, moments: Moments, recipe: Recipe) -> Answers:
    """One pass over a batch of windows."""
    batch = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in vars(moments).items()}
    fusion = model.evidence
    context = None if fusion is None else fusion.normal_moment(batch["context"])
    kept = batch["answer"] != SKIPPED
    at = batch["position"][..., None]
    if recipe.transformer:
        x = model.embed(batch["app"].clamp(min=0), batch["action"], batch["hour"], context)
        hidden = model.states(x, batch["minutes"])
        hidden = hidden.gather(1, at.expand(-1, -1, hidden.shape[-1]))[kept]  # (N, d)
    else:
        hidden = torch.zeros(int(kept.sum()), model.config.dim)
    index, present = batch["index"][kept], batch["present"][kept]
    logits = torch.where(index >= 0, model.head(hidden).gather(1, index.clamp(min=0)), 0.0)
    statistics = batch["statistics"][kept]
    blend = statistics[..., 0].masked_fill(~present, NEVER)
    if fusion is None or context is None:
        scores = logits.masked_fill(~present, NEVER)
    else:
        moment = context.gather(1, at.expand(-1, -1, context.shape[-1]))[kept]
        scores = fusion(hidden, moment, statistics, batch["rank"][kept], logits, present)
    return Answers(scores, blend, batch["answer"][kept])


def build(recipe: Recipe, population: Population) -> Transformer:
    """A fresh model, whose evidence head knows how large the statistics usually are."""
    if recipe.start:
        return weights.load(Path(recipe.start))
    torch.manual_seed(recipe.seed)
    model = Transformer(recipe.model)
    nn.init.normal_(model.head.weight, std=0.02)  # the transformer is silent until it has something to say
    if model.evidence is not None:
        tables = {id(window[0]): window[0] for window in population.windows(0, recipe.real)}.values()
        seen = [table.statistics[::17][table.candidate[::17] >= 0] for table in tables]
        if not sum(map(len, seen)):
            raise BadInput("log", "nothing to learn from: nobody comes back to an app", "give longer logs")
        normalise(model, "statistic", np.concatenate(seen).astype(np.float64), 0.05)
        normalise(
            model, "context", np.concatenate([t.context[::5].reshape(-1, t.context.shape[-1]) for t in tables]), 0.1
        )
    return model


def normalise(model: Transformer, what: str, values: np.ndarray, least: float) -> None:
    mean, deviation = values.mean(axis=0), values.std(axis=0) + least
    getattr(model.evidence, f"{what}_mean").copy_(torch.from_numpy(mean))
    getattr(model.evidence, f"{what}_scale").copy_(torch.from_numpy(1.0 / deviation))


def feed(population: Population, progress: Progress, recipe: Recipe) -> Iterator[tuple[list[Window], int, int]]:
    """Step after step from where the run is: its windows, and where the run is after it (round, windows used)."""
    round_number, used = progress.epoch, progress.step
    if used and recipe.real and progress.steps == recipe.prior_steps:  # a phase has just ended, and its round with it
        round_number, used = round_number + 1, 0
    while True:
        mixed = progress.steps >= recipe.prior_steps and recipe.real
        windows = population.windows(round_number, mixed)
        while used < len(windows):
            chosen = windows[used : used + recipe.windows_per_step]
            used += len(chosen)
            yield chosen, round_number, used
            if mixed != (progress.steps >= recipe.prior_steps and recipe.real):
                break
        round_number, used = round_number + 1, 0


def learning_rate(recipe: Recipe, step: int) -> float:
    """Of step 0, 1, ...: a linear warm-up, then a cosine down to three hundredths; half of it for a trained start."""
    ramp = min(1.0, (step + 1) / recipe.warmup_steps) * (0.5 if recipe.start else 1.0)
    return recipe.learning_rate * ramp * (0.03 + 0.97 * 0.5 * (1.0 + math.cos(math.pi * step / recipe.steps)))


def train(corpus: Corpus, recipe: Recipe, folder: Path, resume: bool = False, view: Corpus | None = None) -> Path:
    """Run the recipe into a folder; the model's file comes back. `view`: the same users, as another logger saw them."""
    settings = folder / "recipe.json"
    if settings.exists() and not resume:
        raise BadInput(str(folder), "there is a run in it", "continue it with --resume, or choose another --out")
    if (folder / "config.toml").exists():
        raise BadInput(str(folder), "there is a run of `stap train` in it", "choose another --out")
    if recipe.start and weights.read_config(Path(recipe.start)) != recipe.model:
        raise BadInput(recipe.start, "a model of other sizes", "start from a run of the same recipe")
    text = json.dumps(asdict(recipe), indent=1) + "\n"
    if settings.exists() and settings.read_text() != text:
        raise BadInput(str(folder), "its run has other settings", "give the same options, or choose another --out")
    training, testing = hold_out(corpus, recipe.fold, recipe.seed, recipe.always)
    population = Population(training, recipe, view)
    model = build(recipe, population)
    _make_folder(folder, settings, text, training, testing)
    moving = optimisers.build(model, recipe)
    average = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    progress = Progress(fingerprint(training) + (fingerprint(view) if view else ""))
    if (folder / LAST).exists():
        progress = checkpoint.load(folder / LAST, model, moving, progress.data, average)
    runlog.rewind(folder / LOG, progress.steps)
    _steps(model, moving, average, population, progress, recipe, folder)
    model.load_state_dict(average)
    if not recipe.transformer:
        _silence(model)
    weights.save(model, folder / MODEL)
    return folder / MODEL


def _make_folder(folder: Path, settings: Path, text: str, training: Corpus, testing: Corpus) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(str(folder), f"cannot make this folder ({error.strerror})", "choose another --out") from None
    split = {"training": list(training.users), "testing": list(testing.users)}
    say_people(split, training.users + testing.users, 0)
    for path, content in ((folder / "users.json", json.dumps(split, indent=1) + "\n"), (settings, text)):
        with replacing(path) as draft:
            draft.write_text(content)


def _steps(
    model: Transformer,
    moving: list[Optimizer],
    average: dict[str, Tensor],
    population: Population,
    progress: Progress,
    recipe: Recipe,
    folder: Path,
) -> None:
    model.train()
    saved = begun = time.monotonic()
    done, loss, blend = progress.seconds, 0.0, 0.0
    people = feed(population, progress, recipe)
    with steps_bar(recipe.steps, progress.steps) as show:
        while progress.steps < recipe.steps:
            chosen, round_number, used = next(people)
            found = _step(model, moving, chosen, progress.steps, recipe)
            if not math.isfinite(found[0]):
                raise BadInput("log", f"nothing to learn from in step {progress.steps + 1}", "give longer logs")
            _average(model, average, progress.steps, recipe.average)
            progress.steps += 1
            progress.epoch, progress.step = round_number, used
            progress.seconds = done + time.monotonic() - begun
            loss, blend = loss + found[0], blend + found[1]
            show(progress.steps, found[0], found[1])
            if progress.steps % LOG_EVERY == 0 or progress.steps == recipe.steps:
                count = (progress.steps - 1) % LOG_EVERY + 1
                line = {"epoch": progress.steps, "loss": loss / count, "blend": blend / count}
                runlog.append(folder / LOG, line | {"seconds": round(progress.seconds, 1)})
                loss = blend = 0.0
                if time.monotonic() - saved > recipe.checkpoint_seconds or progress.steps == recipe.steps:
                    checkpoint.save(folder / LAST, model, moving, progress, average)
                    saved = time.monotonic()
    model.eval()


def _step(
    model: Transformer, moving: list[Optimizer], chosen: list[Window], step: int, recipe: Recipe
) -> tuple[float, float]:
    """The loss, and the blend's on the same positions (of those it knows)."""
    rng = np.random.default_rng([recipe.seed, 2, step])
    optimisers.set_rate(moving, learning_rate(recipe, step), recipe)
    found = answers(model, collate(chosen, recipe.model.vocabulary, rng, recipe.shuffle), recipe)
    loss = found.loss()
    model.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    for optimiser in moving:
        optimiser.step()
    with torch.no_grad():
        blend = F.cross_entropy(found.blend, found.answer, ignore_index=found.blend.shape[1])
    return loss.item(), blend.item()


@torch.no_grad()
def _average(model: Transformer, average: dict[str, Tensor], step: int, left: float) -> None:
    left = min(left, (step + 1) / (step + 10))
    for name, tensor in model.state_dict().items():
        average[name].mul_(left).add_(tensor, alpha=1.0 - left)


@torch.no_grad()
def _silence(model: Transformer) -> None:
    """Without a transformer: what training never showed the head, it must not see in use."""
    fusion, dim = model.evidence, model.config.dim
    assert fusion is not None
    for linear in (fusion.gate, fusion.state, fusion.unseen):
        linear.weight[:, :dim] = 0.0
    fusion.scale[1] = 0.0


def changed(recipe: Recipe, **given: int | str | None) -> Recipe:
    """The recipe with what the command line says."""
    return replace(recipe, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
