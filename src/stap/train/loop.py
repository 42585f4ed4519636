"""The training loop. A run is a folder; kill it at any moment and `resume` continues as if nothing had happened.

Nothing random happens here: windows, their order and phi all follow from (seed, epoch, step), so the state of a run is
its weights, AdamW's moments and a `Progress`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from stap.errors import BadInput
from stap.events import Corpus
from stap.files import replacing
from stap.model import weights
from stap.model.score import summed_loss, to_tensors
from stap.model.transformer import Transformer
from stap.train import checkpoint, config, runlog
from stap.train.checkpoint import Progress
from stap.train.config import TrainConfig
from stap.train.data import Feed, People, fingerprint, people
from stap.train.display import Board, board, say_best, say_people
from stap.train.distributed import World, launch, restarted, world
from stap.train.replicas import Replicas
from stap.train.validate import validate
from stap.windows import pieces

LAUNCH = ".launch"  # in the run's folder: which torchrun made it
_FIGURE_SECONDS = 20.0  # drawing takes a third of a second


@dataclass
class Run:
    """Everything that one process holds while it trains."""

    folder: Path
    config: TrainConfig
    people: People
    feed: Feed
    world: World
    model: Transformer
    replicas: Replicas  # the same model as training calls it
    optimiser: torch.optim.AdamW
    progress: Progress
    total_steps: int
    saved: float = field(default_factory=time.monotonic)
    drawn: float = 0.0


def train(corpus: Corpus, settings: TrainConfig, folder: Path, where: str, resume: bool = False) -> Progress:
    """Train on a corpus into a run folder, from the start or from where the folder is."""
    with world() as here:
        run = begin(corpus, settings, folder, where, resume, here)
        done = run.progress.steps
        with board(run.total_steps, done, run.config.epochs, here.writes) as show:
            while run.progress.epoch < run.config.epochs and not _out_of_patience(run):
                _train_epoch(run, show)
                _finish_epoch(run, show)
        if here.writes:
            _draw(run)
            say_best(run.progress.best_loss, run.progress.best_epoch, folder / "best.safetensors")
        here.wait()  # who leaves while a peer still works may abort on the way out
        return run.progress


def begin(corpus: Corpus, settings: TrainConfig, folder: Path, where: str, resume: bool, here: World) -> Run:
    """Open the folder, or make it; build everything, and put it where the checkpoint says."""
    if (folder / "config.toml").exists():
        if not (resume or _goes_on(folder, here)):
            raise BadInput(str(folder), "there is a run in it", "continue it with --resume, or choose another --out")
        settings = config.read(folder / "config.toml")
    if (folder / "recipe.json").exists():
        raise BadInput(str(folder), "there is a run of `stap recipe` in it", "choose another --out")
    split = people(corpus, settings, where)
    here.wait()  # nobody writes before everybody has looked
    if here.writes:
        _make_folder(folder, settings, split)
        say_people(split.names(), corpus.users, settings.model.vocabulary)
    torch.manual_seed(settings.seed)
    model = Transformer(settings.model).to(here.device)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    progress = Progress(fingerprint(corpus))
    last = folder / "last.safetensors"
    if last.exists():
        progress = checkpoint.load(last, model, [optimiser], progress.data)
    if here.writes:
        runlog.rewind(folder / "log.jsonl", progress.epoch)
    feed = Feed(split.training, settings)
    at_once = max(settings.tokens_at_once, settings.model.context)
    replicas = Replicas(model, _forward(model, settings, here), at_once)
    return Run(folder, settings, split, feed, here, model, replicas, optimiser, progress, feed.steps_in_all())


def _goes_on(folder: Path, here: World) -> bool:
    """Whether torchrun, which starts all workers anew when one has died, made this run itself."""
    mark = folder / LAUNCH
    return restarted() and (not here.writes or (mark.exists() and mark.read_text() == launch()))


def _make_folder(folder: Path, settings: TrainConfig, split: People) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(str(folder), f"cannot make this folder ({error.strerror})", "choose another --out") from None
    for left_over in folder.glob(".*.draft"):  # of a killed process
        left_over.unlink()
    with replacing(folder / "users.json") as draft:
        draft.write_text(json.dumps(split.names(), indent=1) + "\n")
    if launch():
        with replacing(folder / LAUNCH) as draft:
            draft.write_text(launch())
    config.write(settings, folder / "config.toml")  # last: with it, there is a run


def _forward(model: Transformer, settings: TrainConfig, here: World) -> Callable[..., Any]:
    """The model as training calls it: compiled where that helps, then synchronised with the other processes."""
    forward: Any = model
    if settings.compile == "on" or (settings.compile == "auto" and here.device.type == "cuda"):
        forward = torch.compile(model, dynamic=True)  # one kernel for all lengths: a resumed run meets the same one
    if here.size > 1:
        forward = DistributedDataParallel(forward)
    found: Callable[..., Any] = forward
    return found


def bf16_helps(device: torch.device) -> bool:
    """Only where the hardware multiplies bf16: elsewhere it is emulated, at a fraction of fp32's speed."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def autocast(settings: TrainConfig, device: torch.device) -> torch.autocast | nullcontext[None]:
    bf16 = settings.precision == "bf16" or (settings.precision == "auto" and bf16_helps(device))
    return torch.autocast(device.type, torch.bfloat16) if bf16 else nullcontext()


def learning_rate(settings: TrainConfig, step: int, total: int) -> float:
    """Of step 0, 1, ...: a linear warm-up, then constant or a cosine down to a tenth."""
    rate = settings.learning_rate
    if step < settings.warmup_steps:
        return rate * (step + 1) / settings.warmup_steps
    if settings.decay == "none":
        return rate
    past = (step - settings.warmup_steps) / max(1, total - settings.warmup_steps)
    return rate * (0.55 + 0.45 * math.cos(math.pi * min(1.0, past)))


def _train_epoch(run: Run, show: Board) -> None:
    """The steps of this epoch that are still to do."""
    progress = run.progress
    for step in range(progress.step, run.feed.steps(progress.epoch)):
        begin = time.monotonic()
        loss, labels, events = train_step(run, progress.epoch, step)
        seconds = time.monotonic() - begin
        _check(loss, run)
        progress.step, progress.steps = step + 1, progress.steps + 1
        progress.loss, progress.labels = progress.loss + loss, progress.labels + labels
        progress.events, progress.seconds = progress.events + events, progress.seconds + seconds
        show(progress.steps, epoch=progress.epoch + 1, loss=loss / max(1, labels), rate=events / seconds)
        if run.world.writes and time.monotonic() - run.saved > run.config.checkpoint_seconds:
            _save(run)


def _check(loss: float, run: Run) -> None:
    if not math.isfinite(loss):
        remedy = "give a smaller learning_rate or a clip with --config, in another --out"
        raise BadInput(str(run.folder), f"after {run.progress.steps} steps the loss is no number", remedy)


def train_step(run: Run, epoch: int, step: int) -> tuple[float, int, int]:
    """One optimiser step over the whole batch, in pieces; gives its summed loss, its labels and its events.

    The gradient is that of (sum of losses) / (labels of all processes), so it is the same however the batch is shared.
    """
    settings, here = run.config, run.world
    windows = run.feed.windows(settings.context_of(epoch))
    batch = run.feed.batch(epoch, step)
    labels = run.feed.labels(epoch, batch)
    for group in run.optimiser.param_groups:
        group["lr"] = learning_rate(settings, run.progress.steps, run.total_steps)

    parts = here.size * len(run.replicas)

    def work(forward: Callable[..., Any], number: int) -> float:
        """A replica's part of the batch, forward and backward: its summed loss."""
        share = pieces(windows, batch, here.rank * len(run.replicas) + number, parts, settings.tokens_at_once)
        total, weight = 0.0, 1.0
        if not share and here.size > 1:  # a process without windows still joins in
            share, weight = [batch[:1]], 0.0
        for piece in share:
            inputs, label = to_tensors(run.feed.encode(epoch, piece), here.device)
            with nullcontext() if piece is share[-1] else _unsynchronised(forward):
                with autocast(settings, here.device):
                    loss = summed_loss(forward(*inputs), label) * weight
                torch.autograd.backward(loss * (here.size / max(1, labels)))  # DistributedDataParallel takes the mean
            total += float(loss.detach())
        return total

    total = run.replicas.add_up(work)
    if settings.clip:
        nn.utils.clip_grad_norm_(run.model.parameters(), settings.clip)
    run.optimiser.step()
    run.optimiser.zero_grad(set_to_none=True)
    return here.total([total])[0], labels, 2 * int(windows.usages[batch].sum())


def _unsynchronised(forward: Callable[..., Any]) -> AbstractContextManager[None]:
    """Gradients of all but the last piece stay at home."""
    return forward.no_sync() if isinstance(forward, DistributedDataParallel) else nullcontext()


def _finish_epoch(run: Run, show: Board) -> None:
    """Validate, log, keep the best, checkpoint: in this order, so that a kill in between only repeats work."""
    progress, begin = run.progress, time.monotonic()
    context = run.config.context_of(progress.epoch)
    progress.epoch += 1
    found: dict[str, float] = {}
    if progress.epoch % run.config.validate_every == 0 or progress.epoch == run.config.epochs:
        run.model.eval()
        found = validate(run.model, run.people.validation, run.config.seed, run.world)
        _check(found["loss"], run)
        run.model.train()
        show(progress.steps, hits=f"{found['HR@1']:.1f} %")
    better = bool(found) and found["loss"] < progress.best_loss
    if better:
        progress.best_loss, progress.best_epoch = found["loss"], progress.epoch
    progress.seconds += time.monotonic() - begin
    line: dict[str, Any] = {
        "epoch": progress.epoch,
        "context": context,
        "steps": progress.steps,
        "loss": progress.loss / max(1, progress.labels),
        "validation": found,
        "events": progress.events,
        "seconds": round(progress.seconds, 3),
    }
    progress.step, progress.loss, progress.labels = 0, 0.0, 0
    if run.world.writes:
        runlog.append(run.folder / "log.jsonl", line)
        if better:
            weights.save(run.model, run.folder / "best.safetensors")
        _save(run)
        if time.monotonic() - run.drawn > _FIGURE_SECONDS:
            _draw(run)


def _save(run: Run) -> None:
    checkpoint.save(run.folder / "last.safetensors", run.model, [run.optimiser], run.progress)
    run.saved = time.monotonic()


def _draw(run: Run) -> None:
    chance = math.log(run.config.model.vocabulary)
    runlog.draw_curve(runlog.read(run.folder / "log.jsonl"), run.folder / "figures" / "curve.png", chance)
    run.drawn = time.monotonic()


def _out_of_patience(run: Run) -> bool:
    patience, progress = run.config.patience, run.progress
    if not patience or not progress.best_epoch or progress.epoch % run.config.validate_every:
        return False
    return progress.epoch - progress.best_epoch >= patience
