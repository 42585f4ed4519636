"""Everything a run depends on besides its data, as one frozen value; config.toml is its text form."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from stap.errors import BadInput
from stap.files import replacing
from stap.model.config import ModelConfig
from stap.train import folds


@dataclass(frozen=True)
class TrainConfig:
    """The paper's settings by default. It does not give a batch size: 65,536 events is 16 full windows."""

    model: ModelConfig = field(default_factory=ModelConfig)
    seed: int = 0  # of the split, the initial weights, the order of windows, and phi
    fold: str = ""  # "2/5": the second fifth of the users is held out for testing
    split: tuple[int, int] = (8, 2)  # training : validation, by user, of those not held out
    shuffle: bool = True  # phi anew for every window and epoch; False is the non-shuffle ablation: once a user
    epochs: int = 1200
    curriculum: tuple[tuple[int, int], ...] = ()  # (context, epochs): shorter windows first
    tokens_per_batch: int = 65_536  # events an optimiser step sees, whatever the context
    tokens_at_once: int = 2_048  # events in one forward pass, few enough for a cache; gradients add up over the batch
    learning_rate: float = 3e-4
    weight_decay: float = 0.01
    warmup_steps: int = 0
    decay: str = "none"  # or "cosine": down to a tenth at the last step
    clip: float = 0.0  # largest gradient norm; 0 leaves gradients alone
    precision: str = "auto"  # fp32, bf16, or auto: bf16 where the hardware multiplies it
    compile: str = "auto"  # torch.compile: on, off, or auto: on GPUs only (see docs/scale.md)
    validate_every: int = 1  # epochs
    patience: int = 0  # stop after so many epochs without a better validation loss; 0 never stops early
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("epochs", "tokens_per_batch", "tokens_at_once", "learning_rate", "validate_every"):
            if not 0 < getattr(self, name) < math.inf:
                raise _bad(f"{name} must be above 0")
        for name in ("seed", "weight_decay", "warmup_steps", "clip", "patience", "checkpoint_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise _bad(f"{name} must be 0 or more")
        if len(self.split) != 2 or not all(type(part) is int and part > 0 for part in self.split):
            raise _bad(f"split is {list(self.split)}, not two numbers above 0: training and validation")
        if self.model.evidence:
            raise _bad("model.evidence is what `stap recipe` trains; here it has to be 0")
        for context, epochs in self.curriculum:
            if context % 2 or not 2 <= context <= self.model.context or epochs < 1:
                raise _bad(f"curriculum phase [{context}, {epochs}] is not [even context up to L, epochs]")
        if self.tokens_per_batch < self.model.context:
            raise _bad(f"tokens_per_batch is less than one window of {self.model.context} events")
        for name, choices in (
            ("decay", ("none", "cosine")),
            ("precision", ("auto", "fp32", "bf16")),
            ("compile", ("auto", "on", "off")),
        ):
            if getattr(self, name) not in choices:
                raise _bad(f"{name} is {getattr(self, name)!r}, not one of {', '.join(choices)}")
        if self.fold:
            folds.parse(self.fold)

    def context_of(self, epoch: int) -> int:
        """Which window length an epoch (from 0) trains on."""
        for context, epochs in self.curriculum:
            if epoch < epochs:
                return context
            epoch -= epochs
        return self.model.context


# The three presets. `small` leaves the plateau within minutes on two cores; `tiny` is for tests.
PRESETS = {
    "paper": TrainConfig(),
    "small": TrainConfig(
        model=ModelConfig(context=512, dim=128, layers=4, hidden=256, query_key_norm=True),
        epochs=120,
        curriculum=((128, 12), (256, 12)),
        tokens_per_batch=8_192,
        learning_rate=2e-3,
        warmup_steps=40,
        decay="cosine",
        clip=1.0,
        patience=30,
    ),
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


def preset(name: str) -> TrainConfig:
    if name not in PRESETS:
        raise BadInput("--preset", f"no preset {name!r}", f"choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def choose(name: str, file: Path | None, seed: int | None, fold: str | None, epochs: int | None) -> TrainConfig:
    """A preset, changed by a file, changed by what the command line says.

    With a fold held out the rest is split 7 : 1, so that fifths give the paper's 7 : 1 : 2.
    """
    chosen = preset(name)
    if fold:
        chosen = replace(chosen, split=(7, 1))
    if file is not None:
        chosen = read(file, chosen)
    given: dict[str, Any] = {"seed": seed, "fold": fold, "epochs": epochs}
    return replace(chosen, **{key: value for key, value in given.items() if value is not None})


def read(path: Path, base: TrainConfig | None = None) -> TrainConfig:
    """config.toml -> config; what it leaves out is as in `base`."""
    try:
        values = tomllib.loads(path.read_text())
    except OSError as error:
        raise BadInput(str(path), f"cannot read it ({error.strerror})", "check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(str(path), f"no TOML ({error})", "mend that line") from None
    return _from_dict(values, base or TrainConfig(), str(path))


def _from_dict(values: dict[str, Any], base: TrainConfig, where: str) -> TrainConfig:
    kinds = {field.name: type(getattr(base, field.name)) for field in fields(base)}
    for name, value in values.items():
        if name not in kinds:
            raise BadInput(where, f"unknown setting {name!r}", f"the settings are {', '.join(kinds)}")
        if name == "model" and isinstance(value, dict):
            value = ModelConfig.from_dict(json.loads(base.model.to_json()) | value, where)
        elif name in ("split", "curriculum"):
            value = _tuples(value)
        elif kinds[name] is float and type(value) is int:
            value = float(value)
        if type(value) is not kinds[name]:
            raise BadInput(where, f"{name} is {value!r}", f"it has to be {kinds[name].__name__}")
        values[name] = value
    try:
        return replace(base, **values)
    except (BadInput, ValueError, TypeError) as error:
        why = error.why if isinstance(error, BadInput) else str(error)
        raise BadInput(where, why, "mend that setting") from None


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def write(config: TrainConfig, path: Path) -> None:
    """Text that `read` turns back into the same config."""
    plain = {field.name: getattr(config, field.name) for field in fields(config) if field.name != "model"}
    lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    lines += ["", "[model]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in json.loads(config.model.to_json()).items()]
    with replacing(path) as draft:
        draft.write_text("\n".join(lines) + "\n")


def _bad(why: str) -> BadInput:
    return BadInput("training config", why, "mend that setting")
