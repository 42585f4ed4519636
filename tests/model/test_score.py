"""Batched scoring: the ranks by hand, and phis that no training has seen."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stap.events import NO_LABEL, Corpus
from stap.metrics import gains
from stap.model import score
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.phi import draw, invert
from stap.windows import cut, encode

CONFIG = ModelConfig(vocabulary=12, context=32, dim=16, layers=1, heads=2, hidden=16)
SIZES = (20, 31, 7)
START = np.cumsum(np.random.default_rng(0).uniform(1, 90, sum(SIZES)))
PEOPLE = Corpus(
    users=("a", "b", "c"),
    apps=(tuple("pqrst"),) * 3,
    offsets=np.array([0, 20, 51, 58]),
    app=(np.arange(sum(SIZES)) * 3 % 5).astype(np.int32),
    start=START,
    end=START + 0.5,
)
CPU = torch.device("cpu")


def made() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


def test_ranks_are_those_of_the_window_alone() -> None:
    """Against one window at a time, untrimmed, ranked by counting in plain Python."""
    model, windows = made(), cut(PEOPLE, 32)
    seen = []
    for piece, _, scored, rank, first in score.ranks(model, PEOPLE, windows, np.arange(len(windows)), 5, CPU):
        expected, of_all = [], []
        for window in piece.tolist():
            phi = draw(5, score.UNSEEN, [window], 12)
            batch = encode(PEOPLE, windows, np.array([window]), phi)
            inputs, _ = score.to_tensors(batch)
            with torch.inference_mode():
                logits = model(*inputs)[0].tolist()
            used = np.flatnonzero(invert(phi, PEOPLE.app_counts[windows.user[[window]]])[0] >= 0).tolist()
            for at, label in enumerate(batch.label[0].tolist()):
                if label != NO_LABEL:
                    expected.append(sum(logits[at][v] >= logits[at][label] for v in used))
                    of_all.append(sum(each >= logits[at][label] for each in logits[at]) == 1)
            seen.append(window)
        assert rank.tolist() == expected
        assert first.tolist() == of_all
        assert int(scored.sum()) == len(expected)
    assert sorted(seen) == list(range(len(windows)))


def test_hits_while_training_are_those_of_the_ranks() -> None:
    model, windows, which = made(), cut(PEOPLE, 32), np.arange(4)
    expected = np.zeros(len(score.GAINED))
    for _, _, _, rank, first in score.ranks(model, PEOPLE, windows, which, 5, CPU):
        expected += [*gains(rank).sum(axis=0), first.sum()]
    phi = draw(5, score.UNSEEN, which, 12)
    inputs, label = score.to_tensors(encode(PEOPLE, windows, which, phi))
    candidates = torch.from_numpy(invert(phi, PEOPLE.app_counts[windows.user[which]]) >= 0)
    with torch.no_grad():
        got = score.summed_gains(model(*inputs), label, candidates)
    assert got.tolist() == pytest.approx(expected.tolist())


def test_evaluation_uses_no_phi_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a phi it was trained on, a model that learned by heart looks as if it understood."""
    drawn: list[bytes] = []

    def spy(seed: int, epoch: int, windows: np.ndarray[tuple[int], np.dtype[np.int64]], vocabulary: int) -> object:
        phi = draw(seed, epoch, windows, vocabulary)
        drawn.extend(row.tobytes() for row in phi)
        return phi

    monkeypatch.setattr(score, "draw", spy)
    windows = cut(PEOPLE, 32)
    list(score.ranks(made(), PEOPLE, windows, np.arange(len(windows)), 0, CPU))
    trained = {row.tobytes() for epoch in range(200) for row in draw(0, epoch, np.arange(50), 12)}
    assert len(drawn) == len(windows)
    assert not trained & set(drawn)
