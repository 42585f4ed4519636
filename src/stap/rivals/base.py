"""What rivals share: app vectors, a loss, dropout that a resumed run repeats, and the file they are kept in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from stap.errors import BadInput
from stap.model import weights
from stap.rivals.config import REMEDY, RivalConfig
from stap.rivals.scene import Scene

FORMAT = "stap-rival"  # metadata["format"]
HOURS, WEEKDAYS = 24, 7


class Rival(nn.Module, ABC):
    """A scene in, a score for every app of the vocabulary out."""

    def __init__(self, config: RivalConfig) -> None:
        super().__init__()
        self.config = config
        self.apps = nn.Embedding(len(config.apps) + 2, config.sizes.dim)
        with torch.no_grad():
            self.apps.weight[-2:] = 0.0  # an app outside, which no training shows, and no app: they say nothing

    @abstractmethod
    def forward(self, scene: Scene) -> Tensor:
        """(n, V) logits of being the next app."""

    def loss(self, scene: Scene, label: Tensor) -> Tensor:
        """Summed over positions; label (n,)."""
        return F.cross_entropy(self(scene), label, reduction="sum")

    def draw(self, seed: int) -> None:
        """What dropout hides follows from this number, not from how far torch's own dice have rolled."""
        for number, module in enumerate(self.modules()):
            if isinstance(module, Dropout):
                module.seed = (seed * 1009 + number) % 2**62


class Dropout(nn.Module):
    def __init__(self, share: float) -> None:
        super().__init__()
        self.share, self.seed = share, 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.share:
            return x
        dice = torch.Generator(x.device).manual_seed(self.seed)
        kept = torch.rand(x.shape, generator=dice, device=x.device) >= self.share
        return x * kept / (1.0 - self.share)


def attending(sizes_dim: int, heads: int, hidden: int, layers: int) -> nn.TransformerEncoder:
    """Layers of self-attention, normed first; dropout is elsewhere, where it can be repeated."""
    layer = nn.TransformerEncoderLayer(sizes_dim, heads, hidden, 0.0, "gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, nn.LayerNorm(sizes_dim), enable_nested_tensor=False)


def one_hot(now: Tensor) -> Tensor:
    """(n, 2) hour and weekday -> (n, 31)"""
    return torch.cat([F.one_hot(now[:, 0], HOURS), F.one_hot(now[:, 1], WEEKDAYS)], dim=1).float()


def build(config: RivalConfig) -> Rival:
    """A fresh one of its kind."""
    from stap.rivals import appusage2vec, cosem, maple, neusa, tgt

    kinds: dict[str, type[Rival]] = {
        "neusa": neusa.NeuSA,
        "cosem": cosem.CoSEM,
        "maple": maple.Maple,
        "appusage2vec": appusage2vec.AppUsage2Vec,
        "tgt": tgt.Tgt,
    }
    return kinds[config.sizes.kind](config)


def save(model: Rival, path: Path) -> None:
    weights.write(model.state_dict(), {"format": FORMAT, "config": model.config.to_json()}, path)


def load(path: Path) -> Rival:
    """The rival in a file, ready to predict; tensors other than its config says are refused."""
    header = weights.read_header(path)
    if header.metadata.get("format") != FORMAT:
        raise BadInput(str(path), "no rival's file", REMEDY)
    config = RivalConfig.from_json(header.metadata.get("config", ""), str(path))
    with torch.device("meta"):  # shapes before memory
        shapes = {name: tuple(tensor.shape) for name, tensor in build(config).state_dict().items()}
    weights.check(header, shapes, str(path))
    model = build(config)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.stored(path).items()})
    return model.eval()
