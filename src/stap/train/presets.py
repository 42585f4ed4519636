"""Where a run's settings come from: a preset, less one of its parts, changed by a file and by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stap.errors import BadInput, short
from stap.model.config import ModelConfig
from stap.rivals.config import Sizes
from stap.train import config
from stap.train.config import Mix, TrainConfig

SHIPPED = ModelConfig(
    context=512, dim=64, layers=2, hidden=128, query_key_norm=True, ordinal_heads=2, evidence=128, candidate_heads=4
)
PRESETS = {
    "shipped": TrainConfig(
        task="shipped",
        model=SHIPPED,
        tokens_per_batch=5_120,
        tokens_at_once=5_120,
        learning_rate=3e-3,
        muon=5.0,
        weight_decay=0.02,
        beta2=0.98,
        warmup_steps=50,
        decay="cosine",
        decay_to=0.03,
        clip=1.0,
        average=0.99,
        precision="fp32",
    ),
    "paper": TrainConfig(),
    # The paper's idea with what makes it learn on a small machine.
    "pure": TrainConfig(
        task="pure",
        model=ModelConfig(
            context=2048,
            dim=128,
            layers=4,
            heads=2,
            hidden=256,
            query_key_norm=True,
            ordinal_heads=1,
            tied_apps=True,
            mixed_keys=True,
            pointing_heads=6,
        ),
        population=Mix(
            steps=700,
            prior_steps=0,
            prior_share=0.25,
            new_share=0.1,
            augmented=0.7,
            interrupted=0.8,
            instants=0.1,
            stay=3,
        ),
        curriculum=((512, 2), (1024, 2)),
        tokens_per_batch=8_192,
        tokens_at_once=2_048,
        learning_rate=1e-3,
        muon=3.0,
        zero_outputs=True,
        among_seen=True,
        beta2=0.98,
        warmup_steps=40,
        decay="at the end",
        decay_to=0.03,
        clip=1.0,
        average=0.995,
        precision="fp32",
    ),
    # Leaves the plateau within minutes on two cores.
    "small": TrainConfig(
        model=ModelConfig(context=512, dim=128, layers=4, hidden=256, query_key_norm=True),
        epochs=120,
        curriculum=((128, 12), (256, 12)),
        tokens_per_batch=8_192,
        learning_rate=2e-3,
        warmup_steps=40,
        decay="cosine after warm-up",
        clip=1.0,
        patience=30,
    ),
    # For tests: it takes seconds, and learns nothing worth using.
    "tiny": TrainConfig(
        model=ModelConfig(vocabulary=32, context=64, dim=32, layers=2, heads=2, hidden=64, query_key_norm=True),
        epochs=4,
        curriculum=((32, 2),),
        tokens_per_batch=1_024,
        tokens_at_once=512,
        learning_rate=3e-3,
        warmup_steps=5,
        clip=1.0,
    ),
}

# The launch head of the shipped model, on a model that was trained before.
PRESETS["launch"] = replace(
    PRESETS["shipped"],
    model=replace(SHIPPED, launches=128),
    population=Mix(steps=700, prior_steps=0, prior_share=0.0, instants=0.15),
)


def _rival(sizes: Sizes, rate: float, batch: int = 512) -> TrainConfig:
    tokens = 2 * sizes.recent * batch
    return TrainConfig(
        task="rival",
        model=ModelConfig(context=2 * sizes.recent),
        rival=sizes,
        epochs=30,
        patience=5,
        decay="cosine",
        tokens_per_batch=tokens,
        tokens_at_once=tokens,
        learning_rate=rate,
        clip=1.0,
        precision="fp32",
    )


# Rivals at a size for two cores, and as large as they are published or assumed to be (their modules say which).
PRESETS |= {
    "neusa": _rival(Sizes("neusa", 9, 48, 96), 2e-3),
    "cosem": _rival(Sizes("cosem", 15, 48, 96), 2e-3),
    "maple": _rival(Sizes("maple", 15, 48, 96, layers=1, dropout=0.1), 2e-3),
    "appusage2vec": _rival(Sizes("appusage2vec", 4, 48, 96), 2e-3),
    "tgt": _rival(Sizes("tgt", 5, 48, 96, layers=2, dropout=0.1), 2e-3),
    "neusa-full": _rival(Sizes("neusa", 9, 100, 256), 1e-3),
    "cosem-full": _rival(Sizes("cosem", 15, 64, 128), 1e-3),
    "maple-full": _rival(Sizes("maple", 15, 256, 1024, layers=4, categories=30, dropout=0.1), 3e-4),
    "appusage2vec-full": _rival(Sizes("appusage2vec", 4, 64, 128), 1e-3),
    "tgt-full": _rival(Sizes("tgt", 5, 128, 512, layers=4, dropout=0.1), 1e-3),
}

# What it takes to leave each part out.
WITHOUT: dict[str, dict[str, Any]] = {
    "evidence": {"model": {"candidate_heads": 0, "evidence": 0}},
    "comparison": {"model": {"candidate_heads": 0}},
    "transformer": {"population": {"transformer": False}},
    "shuffle": {"shuffle": False},
    "prior": {"population": {"prior_steps": 0, "prior_share": 0.0}},
    "real": {"population": {"real": False}},
    "context": {"model": {"context": 32}},
    "augmentation": {"population": {"augmented": 0.0}},
    "interruptions": {"population": {"interrupted": 0.0}},
    "instants": {"population": {"instants": 0.0}},
    "newcomers": {"population": {"new_share": 0.0}},
    "view": {"population": {"view_share": 0.0}},
    "tied_apps": {"model": {"tied_apps": False}},
    "mixed_keys": {"model": {"mixed_keys": False}},
    "pointing_heads": {"model": {"pointing_heads": 0}},
    "ordinal_heads": {"model": {"ordinal_heads": 0}},
    "query_key_norm": {"model": {"query_key_norm": False}},
    "zero_outputs": {"zero_outputs": False},
    "teacher": {"teacher": ""},
    "among_seen": {"among_seen": False},
    "muon": {"muon": 0.0},
    "averaging": {"average": 0.0},
    "curriculum": {"curriculum": ()},
    "clipping": {"clip": 0.0},
}


def preset(name: str) -> TrainConfig:
    if name not in PRESETS:
        raise BadInput("--preset", f"no preset {name!r}", f"choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def without(settings: TrainConfig, part: str) -> TrainConfig:
    """The same settings with one part taken away: a row of an ablation table."""
    less = _less(settings, part)
    if less == settings:
        parts = [name for name in WITHOUT if _less(settings, name) != settings]
        raise BadInput("--without", f"no part {part!r} to leave out here", f"choose one of {', '.join(parts)}")
    return less


def _less(settings: TrainConfig, part: str) -> TrainConfig:
    """The same settings where they have no such part."""
    less = WITHOUT.get(part, {})
    if "population" in less and settings.task in config.VALIDATED:
        return settings
    return config.changed(settings, less, "--without")


def parse_split(text: str | None) -> list[int] | None:
    """ "7:1:2" -> [7, 1, 2]"""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(":")]
    except ValueError:
        raise BadInput("--split", f"{short(text)} is not a split", "write 8:2 or 7:1:2") from None


def choose(name: str, file: Path | None, part: str | None, given: Mapping[str, Any]) -> TrainConfig:
    """A preset, less a part, changed by a file, changed by what the command line says (`given`, None for nothing).

    With a fold held out the rest is split 7 : 1, so that fifths give the paper's 7 : 1 : 2 but for rounding.
    """
    base = chosen = preset(name)
    if part is not None:
        chosen = without(chosen, part)
    if file is not None:
        chosen = config.read(file, chosen)
    chosen = said(chosen, given)
    for option in ("split", "epochs") if chosen.task not in config.VALIDATED else ():
        if given.get(option) is not None:
            remedy = "leave it out; --fold holds people out, population.steps in --config says how long"
            raise BadInput(f"--{option}", f"the {chosen.task} task does not take it", remedy)
    return replace(chosen, split=(7, 1)) if chosen.fold and chosen.split == base.split else chosen


def said(settings: TrainConfig, given: Mapping[str, Any]) -> TrainConfig:
    """Changed by the command line. A context is the model's, and shorter windows first are those shorter than it."""
    given = dict(given)
    if (context := given.pop("context", None)) is not None:
        shorter = [list(phase) for phase in settings.curriculum if phase[0] < context]
        tokens = max(context, settings.tokens_per_batch)
        given |= {"model": {"context": context}, "curriculum": shorter, "tokens_per_batch": tokens}
    return config.changed(settings, given, "the command line")


def no_run(folder: Path) -> BadInput:
    remedy = "check the path; to start a run here leave --resume out, or say --start-or-resume"
    return BadInput(str(folder), "no run in it to resume", remedy)


def settle(
    folder: Path, begin: str, name: str | None, file: Path | None, part: str | None, given: Mapping[str, Any]
) -> TrainConfig:
    """What a run is to have: of one that goes on, what it has, changed by what was said (which may then be refused)."""
    own = folder / "config.toml"
    if begin == "resume" and not own.exists():
        raise no_run(folder)
    if begin == "new" or not own.exists() or name or file or part:
        return choose(name or "small", file, part, given)
    return said(config.read(own), given)
