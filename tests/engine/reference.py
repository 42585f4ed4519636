"""What the engine is held to: the PyTorch model over the windows that ISWI's caches see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from stap.events import Event
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.phi import OnlinePhi

SMALL = ModelConfig(vocabulary=60, context=128, dim=48, layers=3, heads=3, hidden=80)


def sharp(config: ModelConfig, seed: int = 0) -> Transformer:
    """Random weights, large enough that the logits differ as a trained model's do."""
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(1.7)
        if model.pointing is not None:  # its gates begin alike
            nn.init.normal_(model.pointing.gate.weight, std=0.1)
    return model


def stirred(model: Transformer) -> Transformer:
    """With random weights in every part of its heads: nothing is left at the zeros it starts from."""
    with torch.no_grad():
        for head in filter(None, (model.evidence, model.launch)):
            for parameter in head.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
            head.statistic_mean.normal_(-2.0, 1.0)
            head.statistic_scale.fill_(0.3)
            head.context_scale.fill_(0.3)
    return model


def saved(model: Transformer, folder: Path) -> Path:
    path = folder / "model.safetensors"
    weights.save(model, path)
    return path


def person(count: int, apps: int, seed: int = 0) -> list[Event]:
    """Random events; gaps from seconds to months, so that years go by."""
    rng = np.random.default_rng(seed)
    app = np.repeat(rng.integers(apps, size=count // 2 + 1), 2)[:count]
    minutes = 29e6 + np.cumsum(np.exp(rng.normal(1.5, 2.5, count)))
    return [
        Event(f"app {a}", 1 - i % 2, m, m % 1440 / 60)
        for i, (a, m) in enumerate(zip(app.tolist(), minutes.tolist(), strict=True))
    ]


def iswi_logits(model: Transformer, events: list[Event], seed: int = 0) -> NDArray[np.float32]:
    """(events, V): from stage 1 on, the second half of each window of L events that begins at a multiple of L/2."""
    length, half = model.config.context, model.config.context // 2
    phi = OnlinePhi(model.config.vocabulary, seed)
    index = torch.tensor([[phi.use(event.app)[0] for event in events]])
    action = torch.tensor([[event.action for event in events]])
    minutes = torch.tensor([[event.minutes for event in events]], dtype=torch.float64)
    hour = torch.tensor([[event.hour for event in events]], dtype=torch.float32)
    pieces = []
    with torch.inference_mode():
        for first in range(0, max(len(events) - half, 1), half):
            window = slice(first, first + length)
            logits = model(index[:, window], action[:, window], minutes[:, window], hour[:, window])[0]
            pieces.append(logits if first == 0 else logits[half:])
    return torch.cat(pieces).numpy()
