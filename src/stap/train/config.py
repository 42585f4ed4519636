"""Everything a run depends on besides its data, as one frozen value; config.toml is its text form."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from stap.errors import BadInput
from stap.files import read_bytes, replacing
from stap.model.config import ModelConfig
from stap.rivals.config import Sizes, sizes_of

LARGEST = 1 << 20  # bytes of a file
VALIDATED = ("paper", "rival")  # tasks in which validation picks the best weights


@dataclass(frozen=True)
class Mix:
    """Who the shipped and the pure task train on: people of the prior first, then real people among them."""

    steps: int = 1300  # in all
    prior_steps: int = 150  # on people of the prior alone, first
    prior_share: float = 0.15  # of the usages, once real people come in
    prior_people: int = 120  # drawn anew for every round
    new_share: float = 0.4  # of the real people's usages are newcomers'
    view_share: float = 0.5  # of the times somebody comes up, it is as another logger saw them, where that is given
    augmented: float = 0.5  # of the real logs change every time they come up
    interrupted: float = 0.4  # of the changed logs have other apps come up in the middle of usages
    instants: float = 0.25  # of the real logs come up without closes: so some loggers and most launchers see a person
    stay: int = 1  # rounds that the same people come up in (of the pure task)
    real: bool = True
    transformer: bool = True  # False: the evidence head sees the evidence and the moment only

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 <= self.prior_steps <= self.steps:
            raise _bad(f"{self.steps} steps, {self.prior_steps} of them on the prior")
        if self.prior_people < 1 or self.stay < 1:
            raise _bad("prior_people and stay must be above 0")
        _check_shares(self, "prior_share", "new_share")
        for name in ("view_share", "augmented", "interrupted", "instants"):
            if not 0 <= getattr(self, name) <= 1:
                raise _bad(f"{name} is {getattr(self, name)}, not a share")


@dataclass(frozen=True)
class TrainConfig:
    """The paper's settings by default. It does not give a batch size: 65,536 events is 16 full windows."""

    model: ModelConfig = field(default_factory=ModelConfig)
    population: Mix = field(default_factory=Mix)
    rival: Sizes = field(default_factory=Sizes)  # of the rivals' task alone
    task: str = "paper"  # or "shipped", "pure", "rival"
    seed: int = 0  # of the split, the initial weights, people, the order of windows, and phi
    fold: str = ""  # "2/5": the second fifth of the users is held out for testing
    always: tuple[str, ...] = ()  # users that train in every fold
    split: tuple[int, ...] = (8, 2)  # training : validation (: testing), by user, of those not held out
    start: str = ""  # a model file to go on from, at half the rate; or the one that a launch head is added to
    shuffle: bool = True  # phi anew for every window and epoch; False is the non-shuffle ablation: once a user
    epochs: int = 1200
    curriculum: tuple[tuple[int, int], ...] = ()  # (context, epochs): shorter windows first
    tokens_per_batch: int = 65_536  # events an optimiser step sees, whatever the context
    tokens_at_once: int = 2_048  # events in one forward pass, few enough for a cache; gradients add up over the batch
    learning_rate: float = 3e-4
    muon: float = 0.0  # times the learning rate, for the matrices that Muon moves; 0: AdamW moves them too
    muon_decay: float = 0.2  # of Muon's matrices, which would grow and grow otherwise
    zero_outputs: bool = False  # what blocks add is 0 at first; of tied apps, what their feedforward part adds
    among_seen: bool = False  # the pure task compares apps that the window has shown, not all V
    teacher: str = ""  # a model file whose answers the pure task learns from, too ...
    teaching: float = 0.7  # ... so much of its loss
    weight_decay: float = 0.01
    beta2: float = 0.999  # of AdamW: how long it remembers the size of gradients
    warmup_steps: int = 0
    decay: str = "none"  # "cosine": over all steps; "cosine after warm-up"; "at the end": over the last quarter
    decay_to: float = 0.1  # of the learning rate, at the last step
    clip: float = 0.0  # largest gradient norm; 0 leaves gradients alone
    average: float = 0.0  # of the weights: what is left of the past after a step; 0: no average is kept
    precision: str = "auto"  # fp32, bf16, or auto: bf16 where the hardware multiplies it
    compile: str = "auto"  # torch.compile: on, off, or auto: on GPUs only (see docs/scale.md)
    validate_every: int = 1  # epochs
    patience: int = 0  # stop after so many epochs without a better validation loss; 0 never stops early
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("epochs", "tokens_per_batch", "tokens_at_once", "learning_rate", "validate_every"):
            if not 0 < getattr(self, name) < math.inf:
                raise _bad(f"{name} must be above 0")
        at_least_0 = ("seed", "weight_decay", "muon", "muon_decay", "warmup_steps", "clip", "patience")
        for name in (*at_least_0, "checkpoint_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise _bad(f"{name} must be 0 or more")
        if self.seed >= 2**63:
            raise _bad("seed must be below 2 to the power of 63")
        _check_shares(self, "beta2", "decay_to", "average")
        if self.teacher and self.task != "pure":
            raise _bad(f"a teacher is the pure task's, not the {self.task} task's")
        if self.among_seen and self.task != "pure":
            raise _bad(f"among_seen is the pure task's, not the {self.task} task's")
        if not 0 <= self.teaching <= 1:
            raise _bad(f"teaching is {self.teaching}, not a share")
        if len(self.split) not in (2, 3) or not all(type(part) is int and part > 0 for part in self.split):
            raise _bad(f"split is {list(self.split)}, not 2 or 3 numbers above 0: training, validation, testing")
        if self.fold and len(self.split) == 3:
            raise _bad("a fold is held out already: split says training and validation only")
        if self.task not in VALIDATED and len(self.split) == 3:
            raise _bad(f"the {self.task} task has nobody validate: hold people out with a fold, not a split of three")
        if self.task != "shipped" and self.model.evidence:
            raise _bad("model.evidence is the shipped task's; elsewhere it has to be 0")
        if self.task in VALIDATED and self.average:
            raise _bad(f"average is the shipped and the pure task's; in the {self.task} task it has to be 0")
        if self.task == "rival" and self.model.context != 2 * self.rival.recent:
            raise _bad(
                f"model.context has to be {2 * self.rival.recent}: the {self.rival.recent} usages of rival.recent"
            )
        for phase in self.curriculum:
            if not isinstance(phase, tuple) or [type(part) for part in phase] != [int, int]:
                raise _bad(f"curriculum phase {phase} is not [even context up to L, epochs]")
        for context, epochs in self.curriculum:
            if context % 2 or not 2 <= context <= self.model.context or epochs < 1:
                raise _bad(f"curriculum phase [{context}, {epochs}] is not [even context up to L, epochs]")
        if self.tokens_per_batch < self.model.context:
            raise _bad(f"tokens_per_batch is less than one window of {self.model.context} events")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise _bad(f"{name} is {getattr(self, name)!r}, not one of {', '.join(choices)}")
        if self.fold:
            parse_fold(self.fold)

    def context_of(self, epoch: int) -> int:
        """Which window length an epoch (from 0) trains on."""
        for context, epochs in self.curriculum:
            if epoch < epochs:
                return context
            epoch -= epochs
        return self.model.context


Settings = TypeVar("Settings", TrainConfig, Mix)
CHOICES = {
    "task": ("paper", "shipped", "pure", "rival"),
    "decay": ("none", "cosine", "cosine after warm-up", "at the end"),
    "precision": ("auto", "fp32", "bf16"),
    "compile": ("auto", "on", "off"),
}


def parse_fold(fold: str) -> tuple[int, int]:
    """ "2/5" -> (2, 5)"""
    matched = re.fullmatch(r"(\d{1,3})/(\d{1,3})", fold)
    if not matched or not 1 <= int(matched[1]) <= int(matched[2]) or int(matched[2]) < 2:
        raise BadInput("--fold", f"{fold!r} is not a fold", "write 1/5 to 5/5 for the fifths")
    return int(matched[1]), int(matched[2])


def read(path: Path, base: TrainConfig | None = None) -> TrainConfig:
    """config.toml -> config; what it leaves out is as in `base`."""
    try:
        values = tomllib.loads(read_bytes(path, LARGEST).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, no text, a number of 5,000 digits
        raise BadInput(str(path), f"not TOML ({error})", "mend that line") from None
    return changed(base or TrainConfig(), values, str(path))


def changed(base: Settings, values: Mapping[str, Any], where: str) -> Settings:
    """The settings with some others in their place; a name, type or value that cannot be is refused.

    None says nothing: that setting stays as it is.
    """
    kinds = {field.name: type(getattr(base, field.name)) for field in fields(base)}
    taken: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        if name not in kinds:
            raise BadInput(where, f"unknown setting {name!r}", f"the settings are {', '.join(kinds)}")
        if name == "model" and isinstance(value, dict):
            try:
                value = ModelConfig.from_dict(asdict(getattr(base, name)) | value, where)
            except BadInput as error:
                raise BadInput(where, error.why, "mend that setting") from None
        elif name == "population" and isinstance(value, dict):
            value = changed(getattr(base, name), value, where)
        elif name == "rival" and isinstance(value, dict):
            try:
                value = sizes_of(asdict(getattr(base, name)) | value, where)
            except BadInput as error:
                raise BadInput(where, error.why, error.remedy) from None
        elif kinds[name] is tuple:
            value = _tuples(value)
        elif kinds[name] is float and type(value) is int:
            value = float(value)
        if type(value) is not kinds[name]:
            raise BadInput(where, f"{name} is {value!r}", f"it has to be {kinds[name].__name__}")
        taken[name] = value
    try:
        return replace(base, **taken)
    except (BadInput, ValueError, TypeError) as error:
        why = error.why if isinstance(error, BadInput) else str(error)
        raise BadInput(where, why, "mend that setting") from None


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def write(config: TrainConfig, path: Path) -> None:
    """Text that `read` turns back into the same config."""
    values = asdict(config)
    tables = {name: values.pop(name) for name in ("model", "population", "rival")}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    for title, table in tables.items():
        lines += ["", f"[{title}]", *(f"{name} = {json.dumps(value)}" for name, value in table.items())]
    with replacing(path) as draft:
        draft.write_text("\n".join(lines) + "\n")


def _check_shares(settings: TrainConfig | Mix, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(settings, name) < 1:
            raise _bad(f"{name} is {getattr(settings, name)}, not a share below 1")


def _bad(why: str) -> BadInput:
    return BadInput("training config", why, "mend that setting")
