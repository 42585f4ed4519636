"""STAP behind the Protocol: online phi and ISWI, held against whole windows; and the batched paper protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from stap import evaluate
from stap.errors import BadInput
from stap.events import Corpus, Event
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.phi import OnlinePhi
from stap.reference.session import Stap, StapMaker, load

CONFIG = ModelConfig(vocabulary=10, context=16, dim=16, layers=2, heads=2, hidden=16, ordinal_heads=1)


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


def history(n: int, apps: int = 7, seed: int = 0) -> list[Event]:
    rng = np.random.default_rng(seed)
    minutes = 2.9e7 + np.cumsum(rng.uniform(0.1, 400, n))
    names = [f"app {code}" for code in rng.integers(0, apps, n)]
    times = zip(names, minutes.tolist(), strict=True)
    return [Event(name, 1 - at % 2, t, t % 1440 / 60) for at, (name, t) in enumerate(times)]


def expected(model: Transformer, events: Sequence[Event], step: int, seed: int) -> list[tuple[str, float]]:
    """By the definition: the context that ISWI holds at this step, as one window, through a phi that saw all so far."""
    half = model.config.context // 2
    stage = step // half
    first = 0 if stage < 2 else (stage - 1) * half
    phi = OnlinePhi(model.config.vocabulary, seed)
    index = [phi.use(event.app)[0] for event in events[: step + 1]]
    window = events[first : step + 1]
    with torch.inference_mode():
        logits = model(
            torch.tensor([index[first:]]),
            torch.tensor([[event.action for event in window]]),
            torch.tensor([[event.minutes for event in window]], dtype=torch.float64),
            torch.tensor([[event.hour for event in window]], dtype=torch.float32),
        )[0, -1].double()
    share = {phi.invert(v) or "": float(logits[v].exp()) for v in set(index)}
    total = sum(share.values())
    return sorted(((app, value / total) for app, value in share.items()), key=lambda pair: -pair[1])


def test_every_step_of_five_stages(model: Transformer) -> None:
    events, predictor = history(45), Stap(model, seed=4)
    for step, event in enumerate(events):
        predictor.observe(event)
        ranking = predictor.rank(10)
        right = expected(model, events, step, seed=4)
        assert [app for app, _ in ranking] == [app for app, _ in right]
        assert [p for _, p in ranking] == pytest.approx([p for _, p in right], abs=1e-5)


def test_asking_seldom_changes_nothing(model: Transformer) -> None:
    """Events wait until somebody asks: the answers are the same."""
    often, seldom = Stap(model), Stap(model)
    for step, event in enumerate(history(60)):
        often.observe(event)
        seldom.observe(event)
        answer = often.rank(5)
        if step % 13 == 0 or step in (15, 16, 31, 32):
            found = seldom.rank(5)
            assert [app for app, _ in found] == [app for app, _ in answer]
            assert [p for _, p in found] == pytest.approx([p for _, p in answer], abs=1e-5)


def test_before_the_first_event_there_is_nothing_to_say(model: Transformer) -> None:
    assert Stap(model).rank(5) == []


def test_only_apps_seen_are_ranked_and_they_add_up(model: Transformer) -> None:
    predictor = Stap(model)
    for event in history(30, apps=4):
        predictor.observe(event)
    ranking = predictor.rank(10)
    assert {app for app, _ in ranking} == {f"app {n}" for n in range(4)}
    assert sum(p for _, p in ranking) == pytest.approx(1)
    assert predictor.rank(2) == ranking[:2]


def test_more_apps_than_indices(model: Transformer) -> None:
    predictor = Stap(model)
    for event in history(200, apps=25):
        predictor.observe(event)
        names = [app for app, _ in predictor.rank(50)]
        assert len(names) == len(set(names)) <= 10
        assert event.app in names


def corpus(sizes: Sequence[int] = (11, 40, 5), apps: int = 6) -> Corpus:
    rng = np.random.default_rng(1)
    app = np.concatenate([(np.cumsum(rng.integers(1, apps, n)) % apps) for n in sizes])
    app = np.concatenate([_by_first_use(part) for part in np.split(app, np.cumsum(sizes)[:-1])])
    start = 1e6 + np.cumsum(rng.uniform(1, 300, len(app)))
    counts = [int(part.max()) + 1 for part in np.split(app, np.cumsum(sizes)[:-1])]
    return Corpus(
        users=tuple(f"u{n}" for n in range(len(sizes))),
        apps=tuple(tuple(f"app {n}" for n in range(count)) for count in counts),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        app=app.astype(np.int32),
        start=start,
        end=start + 0.5,
    )


def _by_first_use(app: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    order: dict[int, int] = {}
    return np.array([order.setdefault(code, len(order)) for code in app.tolist()])


def test_the_batched_paper_protocol_scores_every_labelled_event(model: Transformer) -> None:
    people = corpus()
    found = evaluate.paper(people, StapMaker(model), evaluate.Terms(16))
    one_by_one = evaluate.paper(people, lambda: Stap(model), evaluate.Terms(16))
    assert found.user.tolist() == one_by_one.user.tolist()
    assert len(found.rank) == 2 * (len(people.app) - 3)
    assert found.rank.min() >= 1
    assert all(rank <= people.app_counts[user] for rank, user in zip(found.rank, found.user, strict=True))


def test_both_protocols_run_from_a_file(model: Transformer, tmp_path: Path) -> None:
    weights.save(model, tmp_path / "m.safetensors")
    makers = {"stap": load(tmp_path / "m.safetensors")}
    for protocol in ("stream", "paper"):
        result = evaluate.run(corpus(), makers, protocol, evaluate.Terms(16))
        assert result["predictors"]["stap"]["pooled"]["n"] > 0


def test_a_model_with_too_little_room_says_so(model: Transformer) -> None:
    with pytest.raises(BadInput, match="room for 10 apps"):
        evaluate.paper(corpus((400,), apps=30), StapMaker(model), evaluate.Terms(16))
