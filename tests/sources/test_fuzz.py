"""The corpus is read or refused, and half a minute of new inputs made from it (tests/sources/fuzz.py)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sources.fuzz import CORPUS, Importer, fuzz, seeds


def test_the_corpus_is_read_or_refused(tmp_path: Path) -> None:
    """With each of many options."""
    assert len(list(seeds())) > 50
    for seed in range(3):
        importer = Importer(tmp_path, random.Random(seed))
        assert all(importer.answer(path.read_bytes()) for path in sorted(CORPUS.iterdir()))


def test_the_corpus_is_small() -> None:
    sizes = [path.stat().st_size for path in CORPUS.iterdir()]
    assert max(sizes) < 2000
    assert sum(sizes) < 100_000


@pytest.mark.slow
def test_half_a_minute_of_inputs_that_nobody_would_write() -> None:
    """The same ones every time, as far as they go. What was found lies in tests/sources/found: mend it, then into the
    corpus with it.
    """
    inputs, findings = fuzz(30, seed=1)
    assert not findings, findings[0]
    assert inputs > 500
