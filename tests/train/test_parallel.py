"""Threads that share a step: the same gradients as one thread's, the same bits every time, one copy of the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from stap.model.transformer import Transformer
from stap.train.parallel import EVENTS, Replicas
from stap.train.presets import preset

MODEL = preset("tiny").model


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def made(events_at_once: int = 512) -> tuple[Transformer, Replicas]:
    torch.manual_seed(0)
    model = Transformer(MODEL)
    return model, Replicas(model, model, events_at_once)


def part(number: int) -> tuple[Tensor, ...]:
    rng = torch.Generator().manual_seed(number)
    app = torch.randint(MODEL.vocabulary, (2, 16), generator=rng)
    return app, app % 2, torch.arange(32.0, dtype=torch.float64).view(2, 16), app.float() % 24


def work(forward: Callable[..., Any], number: int) -> Tensor:
    loss: Tensor = forward(*part(number)).square().sum()[None]
    torch.autograd.backward(loss)
    return loss.detach()


def gradients(model: Transformer) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def test_threads_add_up_to_one(three_threads: None) -> None:
    model, replicas = made()
    assert len(replicas) == 3
    total = replicas.add_up(work)
    found = gradients(model)
    model.zero_grad()
    assert float(total) == pytest.approx(sum(float(work(model, number)) for number in range(3)), rel=1e-6)
    for one, other in zip(found, gradients(model), strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-4)


def test_the_same_bits_every_time(three_threads: None) -> None:
    model, replicas = made()
    replicas.add_up(work)
    first = gradients(model)
    model.zero_grad()
    replicas.add_up(work)
    assert all(torch.equal(one, other) for one, other in zip(first, gradients(model), strict=True))


def test_a_step_of_the_optimiser_reaches_every_replica(three_threads: None) -> None:
    model, replicas = made()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    replicas.add_up(work)
    optimiser.step()
    for other in replicas.forwards[1:]:
        assert isinstance(other, Transformer)
        for mine, its in zip(model.parameters(), other.parameters(), strict=True):
            assert mine.data_ptr() == its.data_ptr()


def test_long_windows_leave_threads_to_the_products(three_threads: None) -> None:
    """Memory grows with every window in flight."""
    assert len(made(EVENTS // 2)[1]) == 2
    assert len(made(2 * EVENTS)[1]) == 1


def test_a_compiled_or_distributed_model_is_alone(three_threads: None) -> None:
    model = Transformer(MODEL)
    assert len(Replicas(model, lambda *inputs: model(*inputs), 512)) == 1
