"""docs/format.md tells the truth: a snapshot read by its rules alone, down to the last byte."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stap import _engine
from stap.engine import EngineModel, Settings
from stap.model.config import ModelConfig
from stap.notices import Notice

from .reference import person, saved, sharp

PURE = ModelConfig(vocabulary=20, context=64, dim=24, layers=2, heads=3, hidden=20)
POINTING = replace(PURE, mixed_keys=True, pointing_heads=3)
EVIDENT = ModelConfig(vocabulary=20, context=64, dim=24, layers=2, heads=3, hidden=20, evidence=8)


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def get(self, kinds: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + kinds, self.data, self.at)
        self.at += struct.calcsize("<" + kinds)
        return values

    def text(self) -> str:
        (size,) = self.get("I")
        return bytes(self.get(f"{size}B")).decode()

    def length(self) -> int:
        return int(self.get("Q")[0])


def read_phi(reader: Reader) -> dict[str, int]:
    reader.get(f"{reader.get('I')[0]}H")
    indices = {}
    for _ in range(reader.get("I")[0]):
        index, _last_use = reader.get("HQ")
        indices[reader.text()] = index
    reader.get("Q")
    return indices


def read_cache(reader: Reader, config: ModelConfig, value: str) -> None:
    (taken, _origin), padded = reader.get("Id"), -(-config.head_dim // 32) * 32
    if taken:
        reader.get(f"{(config.layers * config.heads * config.mixed_keys + config.pointing_heads) * padded}f")
    for start in range(0, taken, min(256, config.context)):
        rows = min(taken - start, min(256, config.context))
        reader.get(f"{rows}H")
        assert set(reader.get(f"{rows}B")) <= {0, 1}
        for _ in range(config.pointing_heads):
            reader.get(f"{rows * padded}{value}")
            reader.get(f"{rows}f" if value == "b" else "")
        for _ in range(config.layers * config.heads):
            reader.get(f"{2 * rows * padded}{value}")
            reader.get(f"{2 * rows}f" if value == "b" else "")


def read_evidence(reader: Reader) -> list[str]:
    names = []
    for _ in range(reader.length()):
        names.append(reader.text())
        reader.get("3I3Q6d5d5d24d16d2Q3d")
    assert sorted(reader.get(f"{len(names)}I")) == list(range(len(names)))
    for _generation in range(4 * 2):
        for _ in range(reader.length()):
            reader.get("Qdd")
            reader.get("IId" * reader.length())
    reader.get("9d20d16d80d10I")
    usages = reader.get("I3QIi8dIBBdB")[1]
    assert usages > 100
    reader.get("2d10d32d4d")  # returns: whenever, by pause, by part of the day; weights
    reader.get("3QBd96d")  # launches
    return names


@pytest.mark.parametrize("config", [PURE, POINTING, EVIDENT])
@pytest.mark.parametrize(("cache", "value"), [("fp32", "f"), ("fp16", "e"), ("int8", "b")])
def test_a_snapshot_is_what_the_format_says(tmp_path: Path, config: ModelConfig, cache: str, value: str) -> None:
    predictor = EngineModel(saved(sharp(config), tmp_path)).predictor(Settings(cache=cache))  # type: ignore[arg-type]
    events = person(300, 40)
    for event in events:
        predictor.observe(event)
    for app in ("mail", "chat", "mail"):
        predictor.notified(Notice(app, 30e6, 0.0))
    predictor.forget(events[-1].app)
    predictor.rank(1)
    predictor.catch_up(1000)
    reader = Reader(predictor.snapshot())
    assert bytes(reader.get("8B")) == b"STAPSNAP"
    version, _, _, _, _, context, steps, ranked, answered = reader.get("IQBBBIQQQ")
    assert (version, context, steps, ranked, answered) == (6, config.context, 300, 300, 300)
    assert list(reader.get(f"{config.vocabulary}f")) == predictor.logits().tolist()
    reader.get(f"{config.dim}f")
    left = {event.app for event in events} - {events[-1].app}
    assert read_phi(reader) == {app: i for app in left if (i := predictor.index(app)) is not None}
    times = [reader.get(f"dfHBB{len(_engine.MOMENT)}f")[0] for _ in range(min(steps, context))]
    assert sorted(times) == [event.minutes for event in events[-context:]]
    ((step, _index),) = (reader.get("QH") for _ in range(reader.length()))
    assert (step, *reader.get("B")) == (steps, 0), "forgotten after the last event, a close"
    for _ in range(2):
        read_cache(reader, config, value)
    if config.evidence:
        assert set(read_evidence(reader)) == left
        reader.get("2d8d2QB")  # the last word
        assert [(reader.text(), *reader.get("dBd")) for _ in range(reader.length())] == [
            ("chat", 30e6, 1, 0.0),
            ("mail", 30e6, 1, 0.0),
        ]
        reader.get("5d")
    reader.get("Q")
    assert reader.at == len(reader.data)
