"""The sizes of a rival, and what it knows by name: apps, people, categories. No torch here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from stap.errors import BadInput

KINDS = ("neusa", "cosem", "maple", "appusage2vec", "tgt")
LARGEST = {"recent": 256, "dim": 1024, "hidden": 4096, "layers": 32, "heads": 64, "categories": 256}
MOST_NAMES = 1 << 20  # apps or people of a file
REMEDY = "use a file that `stap train --preset neusa` (or another rival's) wrote"


@dataclass(frozen=True)
class Sizes:
    """The part of a run's settings that is a rival's alone."""

    kind: str = KINDS[0]
    recent: int = 9  # usages it looks back on
    dim: int = 64  # of an app's vector
    hidden: int = 128
    layers: int = 2  # of what attends
    heads: int = 4
    categories: int = 12  # into which MAPLE-style sorts apps
    dropout: float = 0.3
    unknown: float = 0.2  # of the people in training are shown as nobody knows them, so that strangers can be asked
    told_hour: bool = False  # it knows at which hour the next app comes, as TGT's publication has it

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise _bad(f"kind is {self.kind!r}, not one of {', '.join(KINDS)}")
        for name, most in LARGEST.items():
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise _bad(f"{name} is {value!r}, outside 1..{most}")
        for name in ("dropout", "unknown"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < 1:
                raise _bad(f"{name} is {value!r}, not a share below 1")
        if type(self.told_hour) is not bool:
            raise _bad(f"told_hour is {self.told_hour!r}")
        if self.dim % self.heads:
            raise _bad(f"dim {self.dim} cannot be shared out to {self.heads} heads")


@dataclass(frozen=True)
class RivalConfig:
    """All that a rival is besides its weights; real names are in it, as a fixed vocabulary needs them."""

    sizes: Sizes
    apps: tuple[str, ...]  # its vocabulary: an app outside can never be its answer
    users: tuple[str, ...]  # whom it was trained on
    category: tuple[int, ...]  # of every app

    def __post_init__(self) -> None:
        for names in (self.apps, self.users):
            if len(names) > MOST_NAMES or not all(isinstance(name, str) for name in names):
                raise _bad("its names are no names")
            if len(set(names)) != len(names):
                raise _bad("a name comes twice")
        fine = all(type(each) is int and 0 <= each < self.sizes.categories for each in self.category)
        if not self.apps or len(self.category) != len(self.apps) or not fine:
            raise _bad("its apps and their categories do not belong together")

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str, where: str) -> RivalConfig:
        """From a file's header: what cannot be is refused."""
        try:
            values = json.loads(text)
            sizes = sizes_of(values["sizes"], where)
            return cls(sizes, *(tuple(values[name]) for name in ("apps", "users", "category")))
        except BadInput as error:
            raise BadInput(where, error.why, REMEDY) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadInput(where, "no rival's config in its header", REMEDY) from None


def sizes_of(values: Any, where: str) -> Sizes:
    """From a header or a config.toml."""
    names = [field.name for field in fields(Sizes)]
    if not isinstance(values, dict):
        raise BadInput(where, "rival is no table of names and values", f"the settings are {', '.join(names)}")
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise BadInput(where, f"unknown rival setting {unknown[0]!r}", f"the settings are {', '.join(names)}")
    return Sizes(**values)


def _bad(why: str) -> BadInput:
    return BadInput("rival config", why, "mend that setting")
