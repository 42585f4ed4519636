"""fp16 and int8 may cost next to no hits. `stap study numbers` holds real people to the same bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from stap.engine import Dtype, EngineModel, Settings
from stap.evaluate import report, stream
from stap.prior import people
from stap.train.presets import preset
from stap.train.run import train


@pytest.mark.slow
def test_smaller_numbers_lose_no_hits(tmp_path: Path) -> None:
    """A model that learned something from synthetic people, on others: HR@1 within 0.1 and 0.3 points of fp32's."""
    settings = replace(preset("tiny"), epochs=10, curriculum=())
    train(people(80, seed=5, usages=(200, 300)), settings, tmp_path / "run", "the prior")
    others = people(60, seed=6, usages=(300, 500))
    others = others.select(np.flatnonzero(others.app_counts <= 2 * settings.model.vocabulary))

    def hit_rate(dtype: Dtype) -> float:
        model = EngineModel(tmp_path / "run" / "best.safetensors", dtype)
        pooled = report(stream(others, partial(model.predictor, Settings(cache=dtype))), "stream")["pooled"]
        assert pooled["n"] > 10_000
        return float(pooled["HR@1"])

    full = hit_rate("fp32")
    assert full > 15  # by chance it would be 3
    assert full - hit_rate("fp16") <= 0.1
    assert full - hit_rate("int8") <= 0.3
