"""The training loop. A run is a folder; kill it at any moment and resuming continues as if nothing had happened.

Nothing random happens here: people, windows, their order and phi all follow from (seed, epoch, step), so the state of a
run is its weights, what the optimisers remember, the average where one is kept, and a `Progress`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from stap.errors import BadInput
from stap.events import Corpus
from stap.files import clear_drafts, replacing
from stap.train import checkpoint, config, journal, optimisers, parallel, shelf, tasks
from stap.train.checkpoint import Progress
from stap.train.config import TrainConfig
from stap.train.display import Board, board, say_people, say_result
from stap.train.parallel import World, launch, restarts, world
from stap.train.people import People
from stap.train.presets import no_run
from stap.train.step import Trainer
from stap.train.tasks.base import Epoch, Task

Begin = Literal["new", "resume", "either"]
Watch = Callable[[Any], dict[str, float]]
Read = Callable[[], tuple[Corpus, Corpus | None]]  # people and their view, read by one process
CONFIG, USERS, JOURNAL, LAST = "config.toml", "users.json", "log.jsonl", "last.safetensors"
LAUNCH = ".launch"  # in the run's folder: which torchrun made it
_FIGURE_SECONDS = 20.0  # drawing takes a third of a second


@dataclass
class Run:
    """Everything that one process holds while it trains."""

    folder: Path
    settings: TrainConfig
    task: Task[Any]
    trainer: Trainer
    world: World
    progress: Progress
    watch: Watch | None = None
    saved: float = field(default_factory=time.monotonic)
    drawn: float = 0.0


def train(
    corpus: Corpus | Read,
    settings: TrainConfig,
    folder: Path,
    where: str,
    begin: Begin = "new",
    view: Corpus | None = None,
    words: bool = True,
    watch: Watch | None = None,
) -> Progress:
    """Train on a corpus into a run folder. begin: a new run, one that is there, or whichever it is.

    words: say who trains and where the result is; not where a run is a part of other work.
    watch: gives figures of the model for the log after every epoch.
    """
    with world() as here:
        run = open_run(corpus, settings, folder, where, begin, here, view)
        run.watch = watch
        if here.writes and words:
            say_people(run.task.people.names(), run.task.people.number, settings.model.vocabulary)
        with board(run.task.steps, run.progress.steps, here.writes) as show:
            while run.progress.steps < run.task.steps and not _out_of_patience(run):
                epoch = run.task.epoch(run.progress.epoch, run.progress.steps - run.progress.step)
                _train_epoch(run, epoch, show)
                _finish_epoch(run, epoch, show)
        if here.writes:
            _finish(run)
            if words:
                say_result(run.progress, folder / run.task.result)
            shelf.clear(folder)
        here.wait()  # who leaves while a peer still works may abort on the way out
        return run.progress


def open_run(
    corpus: Corpus | Read,
    settings: TrainConfig,
    folder: Path,
    where: str,
    begin: Begin,
    here: World,
    view: Corpus | None = None,
) -> Run:
    """Open the folder, or make it; build everything, and put it where the checkpoint says."""
    if (folder / CONFIG).exists():
        if begin == "new" and not _goes_on(folder, here):
            raise BadInput(str(folder), "there is a run in it", "continue it with --resume, or choose another --out")
        settings = agreed(config.read(folder / CONFIG), settings, folder)
    elif begin == "resume":
        raise no_run(folder)
    people = shelf.shared(lambda: _gather(corpus, view, settings, where), folder, here)
    task = tasks.make(people, settings, where)
    model = task.build().to(here.device)
    moving = optimisers.build(model, settings)
    moved = ((name, tensor) for name, tensor in model.named_parameters() if settings.average and tensor.requires_grad)
    average = {name: tensor.detach().clone() for name, tensor in moved}
    progress = Progress(people.data)
    if (folder / LAST).exists():
        progress = checkpoint.load(folder / LAST, model, moving, progress.data, average)
    here.wait()  # nobody writes before everybody has looked
    if here.writes:
        _make_folder(folder, settings, task)
        journal.rewind(folder / JOURNAL, progress.epoch)
    objective = task.objective(model)
    compiled = settings.compile == "on" or (settings.compile == "auto" and here.device.type == "cuda")
    forward = parallel.wrapped(objective, here, compiled, settings.population.transformer)
    replicas = parallel.Replicas(objective, forward, max(settings.tokens_at_once, settings.model.context))
    trainer = Trainer(settings, here, model, replicas, moving, average, task.steps, task.sums)
    return Run(folder, settings, task, trainer, here, progress)


def _gather(corpus: Corpus | Read, view: Corpus | None, settings: TrainConfig, where: str) -> People:
    people, seen = (corpus, view) if isinstance(corpus, Corpus) else corpus()
    return tasks.gather(people, settings, where, seen)


def agreed(own: TrainConfig, wanted: TrainConfig, folder: Path) -> TrainConfig:
    """A run's own settings count when it goes on; others that somebody asks for are refused, not ignored."""
    ours, theirs = _flat(asdict(own)), _flat(asdict(wanted))
    for name, value in ours.items():
        if name != "checkpoint_seconds" and theirs[name] != value:
            remedy = "resume it without naming settings, or choose another --out"
            raise BadInput(str(folder), f"its run has {name} = {value!r}, not {theirs[name]!r}", remedy)
    return own


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Tables of settings as one: model.dim, population.steps, ..."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _goes_on(folder: Path, here: World) -> bool:
    """Whether torchrun, which starts all workers anew when one has died, made this run itself."""
    mark = folder / LAUNCH
    return restarts() > 0 and (not here.writes or (mark.exists() and mark.read_text() == launch()))


def _make_folder(folder: Path, settings: TrainConfig, task: Task[Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(str(folder), f"cannot make this folder ({error.strerror})", "choose another --out") from None
    clear_drafts(folder)
    texts = {USERS: json.dumps(task.people.names(), indent=1) + "\n"} | ({LAUNCH: launch()} if launch() else {})
    for name, text in texts.items():
        with replacing(folder / name) as draft:
            draft.write_text(text)
    config.write(settings, folder / CONFIG)  # last: with it, there is a run


def _train_epoch(run: Run, epoch: Epoch, show: Board) -> None:
    """The steps of this epoch that are still to do."""
    progress = run.progress
    for step in range(progress.step, len(epoch)):
        begin = time.monotonic()
        sums, labels, events = run.trainer.step(epoch, step, progress.steps)
        seconds = time.monotonic() - begin
        _check(sums["loss"], run)
        progress.step, progress.steps = step + 1, progress.steps + 1
        progress.sums = {name: progress.sums.get(name, 0.0) + value for name, value in sums.items()}
        progress.labels, progress.events = progress.labels + labels, progress.events + events
        progress.seconds += seconds
        values: dict[str, Any] = {"loss": sums["loss"] / max(1, labels), "rate": events / seconds}
        if "blend" in sums:
            values["beside"] = f"blend {sums['blend'] / max(1, sums['known']):.3f}"
        show(progress.steps, epoch=progress.epoch + 1, **values)
        if run.world.writes and time.monotonic() - run.saved > run.settings.checkpoint_seconds:
            _save(run)


def _check(loss: float, run: Run) -> None:
    if not math.isfinite(loss):
        remedy = "give a smaller learning_rate or a clip with --config, in another --out"
        raise BadInput(str(run.folder), f"after {run.progress.steps} steps the loss is not a number", remedy)


def _finish_epoch(run: Run, epoch: Epoch, show: Board) -> None:
    """Validate, log, keep the best, checkpoint: in this order, so that a kill in between only repeats work."""
    progress, begin, model = run.progress, time.monotonic(), run.trainer.model
    progress.epoch += 1
    scores: dict[str, float] = {}
    if progress.epoch % run.settings.validate_every == 0 or progress.steps == run.task.steps:
        model.eval()
        with run.trainer.averaged():
            scores = run.task.validate(model, run.world)
        model.train()
    if scores:
        _check(scores["loss"], run)
        show(progress.steps, beside=f"HR@1 {scores['HR@1']:.1f} %")
    better = bool(scores) and run.task.chooses and scores["loss"] < progress.best_loss
    if better:
        progress.best_loss, progress.best_epoch = scores["loss"], progress.epoch
    progress.seconds += time.monotonic() - begin
    line: dict[str, Any] = {
        "epoch": progress.epoch,
        "context": epoch.windows.context,
        "steps": progress.steps,
        **run.task.training(progress.sums, max(1, progress.labels)),
        "validation": scores,
        **({"watch": run.watch(model)} if run.watch else {}),
        "events": progress.events,
        "seconds": round(progress.seconds, 3),
    }
    progress.step, progress.labels, progress.sums = 0, 0, {}
    if run.world.writes:
        journal.append(run.folder / JOURNAL, line)
        if better:
            run.task.save(model, run.folder / run.task.result)
        _save(run)
        if time.monotonic() - run.drawn > _FIGURE_SECONDS:
            _draw(run)


def _save(run: Run) -> None:
    trainer = run.trainer
    checkpoint.save(run.folder / LAST, trainer.model, trainer.moving, run.progress, trainer.average)
    run.saved = time.monotonic()


def _draw(run: Run) -> None:
    chance = math.log(run.settings.model.vocabulary)
    journal.draw_curve(journal.read(run.folder / JOURNAL), run.folder / "figures" / "curve.png", chance)
    run.drawn = time.monotonic()


def _finish(run: Run) -> None:
    """Where nobody validates, the last weights or their average are the model."""
    _draw(run)
    if not run.progress.best_epoch:
        model = run.trainer.model.eval()
        if run.trainer.average:
            model.load_state_dict(run.trainer.average, strict=False)  # (the rest has not moved)
        run.task.finish(model)
        run.task.save(model, run.folder / run.task.result)


def _out_of_patience(run: Run) -> bool:
    patience, progress = run.settings.patience, run.progress
    if not patience or not progress.best_epoch or progress.epoch % run.settings.validate_every:
        return False
    return progress.epoch - progress.best_epoch >= patience
