"""The sizes of a model, and the tensors that follow from them. No torch here: the engine's side reads this too."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from math import prod
from typing import Any

from stap.errors import BadInput
from stap.evidence import RANKS, counts
from stap.windows import CONTEXT, VOCABULARY

LARGEST = {  # far above anything useful, far below what a forged header needs to exhaust memory
    "vocabulary": 4096,
    "context": 1 << 20,
    "dim": 4096,
    "layers": 128,
    "heads": 128,
    "hidden": 16384,
    "evidence": 1024,
    "candidate_heads": 16,
    "launches": 1024,
    "pointing_heads": 64,
}
CANDIDATE_HEAD = 16  # values of each
REMEDY = "use a model that `stap train` wrote"
ORDINAL_BASE = 10_000.0  # of the heads that turn by index: the usual one


@dataclass(frozen=True)
class ModelConfig:
    """The paper's sizes by default: 5,547,776 parameters."""

    vocabulary: int = VOCABULARY  # V, how many apps phi has room for
    context: int = CONTEXT  # L, in events: the longest context the model was trained for
    dim: int = 256  # d
    layers: int = 8  # N
    heads: int = 4
    hidden: int = 512  # of the SwiGLU
    time_base: float = 100_000.0  # b of theta_k = b^(-2k / d_head), for angles in minutes
    norm_eps: float = 1e-5
    # Not in the paper, and off by default.
    query_key_norm: bool = False  # RMSNorm on every head's queries and keys: leaves the plateau sooner, at higher rates
    ordinal_heads: int = 0  # the last so many heads turn by the event's index instead of its time
    tied_apps: bool = (
        False  # the head is a map back to the apps' own vectors: copying is one map, not V things to learn
    )
    mixed_keys: bool = False  # every key has a share of the key before it: one layer finds what came after an app
    pointing_heads: int = 0  # of the pointing head: they point at past openings instead of naming apps; 0: none
    evidence: int = 0  # width of the evidence head; 0: none
    launches: int = 0  # width of the launch head: asked at a moment, the current app among the candidates; 0: none
    candidate_heads: int = 0  # by which its candidates are compared with each other; 0: they are not

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kind: type | tuple[type, ...] = {"int": int, "bool": bool}.get(str(field.type), (int, float))
            if not isinstance(value, kind) or (field.type != "bool" and isinstance(value, bool)):
                raise _bad(f"{field.name} is {value!r}")
        for name, most in (LARGEST | ({} if self.evidence else {"candidate_heads": 0, "launches": 0})).items():
            least = 0 if name in ("evidence", "candidate_heads", "launches", "pointing_heads") else 1
            if not least <= getattr(self, name) <= most:
                raise _bad(f"{name} is {getattr(self, name)}, outside {least}..{most}")
        if self.dim % (2 * self.heads):
            raise _bad(f"dim {self.dim} does not give {self.heads} heads an even number of values each")
        if self.context % 2:
            raise _bad(f"context is {self.context}, but a usage is two events")
        if not 0 <= self.ordinal_heads <= self.heads:
            raise _bad(f"ordinal_heads is {self.ordinal_heads} of {self.heads} heads")
        if self.pointing_heads and self.evidence:
            raise _bad("pointing_heads and evidence do not go together")
        if not (1 < self.time_base < 1e12 and 0 < self.norm_eps < 1):
            raise _bad("time_base or norm_eps is out of range")

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of a model of this config, by name: the contract between training, files and engine."""
        d, v, h = self.dim, self.vocabulary, self.hidden
        shapes: dict[str, tuple[int, ...]] = {
            "embed_app.weight": (v, d),
            "embed_action.weight": (2, d),
            "embed_hour.weight": (d, 2),
            "embed_hour.bias": (d,),
            "fuse.weight": (d, 3 * d),  # columns: app, action, hour
            "fuse.bias": (d,),
        }
        for n in range(self.layers):
            block = f"blocks.{n}."
            shapes[block + "attention_norm.weight"] = (d,)
            shapes[block + "attention.qkv.weight"] = (3 * d, d)  # rows: queries, keys, values; in each, head by head
            if self.mixed_keys:
                shapes[block + "attention.key_before"] = (d,)
            if self.query_key_norm:
                shapes[block + "attention.query_norm.weight"] = (self.head_dim,)
                shapes[block + "attention.key_norm.weight"] = (self.head_dim,)
            shapes[block + "attention.out.weight"] = (d, d)
            shapes[block + "feedforward_norm.weight"] = (d,)
            shapes[block + "feedforward.gate_up.weight"] = (2 * h, d)  # rows: gate, then up
            shapes[block + "feedforward.down.weight"] = (d, h)
        shapes["norm.weight"] = (d,)
        shapes["head.weight"] = (d, d) if self.tied_apps else (v, d)
        if p := self.pointing_heads:
            shapes["pointing.qk.weight"] = (2 * p * self.head_dim, d)  # rows: queries, keys; in each, head by head
            shapes["pointing.key_before"] = (p * self.head_dim,)
            shapes |= {f"pointing.{name}": (p,) for name in ("fade", "nothing", "floor", "sharpness")}
            shapes |= {"pointing.gate.weight": (p, d), "pointing.gate.bias": (p,)}
        if self.evidence:
            shapes |= {f"evidence.{name}": shape for name, shape in self._head_tensors(False).items()}
        if self.launches:
            shapes |= {f"launch.{name}": shape for name, shape in self._head_tensors(True).items()}
        return shapes

    def _head_tensors(self, launches: bool) -> dict[str, tuple[int, ...]]:
        (f, c), d, w = counts(launches), *((0, self.launches) if launches else (self.dim, self.evidence))
        state, inside = d + c, self.candidate_heads * CANDIDATE_HEAD
        compare = {"compare.qkv.weight": (3 * inside, w), "compare.out.weight": (w, inside)}
        return {
            **(compare if inside else {}),
            "statistic_mean": (f,),
            "statistic_scale": (f,),
            "context_mean": (c,),
            "context_scale": (c,),
            **({"embed.weight": (d, c)} if d else {}),
            "gate.weight": (f, state),
            "gate.bias": (f,),
            "statistics.weight": (w, f),
            "statistics.bias": (w,),
            "rank.weight": (RANKS, w),
            "state.weight": (w, state),
            "hidden.weight": (w, w),
            "hidden.bias": (w,),
            "out.weight": (1, w),
            "unseen.weight": (1, state),
            "unseen.bias": (1,),
            "scale": (2,),
        }

    def parameters(self) -> int:
        return sum(prod(shape) for shape in self.tensors().values())

    def flops_per_event(self, context: int) -> float:
        """Forward and backward of one event in a full window: 6 a matrix weight, and causal attention's half square."""
        inside = {name: shape for name, shape in self.tensors().items() if name.startswith(("blocks", "head"))}
        matrices = sum(prod(shape) for shape in inside.values() if len(shape) == 2)
        tied = self.vocabulary * self.dim * self.tied_apps
        return 6.0 * (matrices + tied + self.layers * self.dim * context)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_dict(cls, values: Any, where: str) -> ModelConfig:
        """From a file's header or a config.toml: unknown names and impossible sizes are refused."""
        if not isinstance(values, dict):
            raise BadInput(where, "its model config is no table of names and values", REMEDY)
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise BadInput(where, f"unknown model setting {unknown[0]!r}", "check its spelling and the file's version")
        try:
            return cls(**values)
        except BadInput as error:
            raise BadInput(where, error.why, error.remedy) from None


def _bad(why: str) -> BadInput:
    return BadInput("model config", why, REMEDY)
