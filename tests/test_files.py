"""Write beside and rename."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stap.files import replacing


def test_a_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    """Also where the writer put another file in the draft's place, with rights of its own."""
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.touch()
    with replacing(written) as draft:
        own = draft.with_suffix(".own")
        own.write_text("hello")
        own.chmod(0o600)
        os.replace(own, draft)
    assert written.read_text() == "hello"
    assert written.stat().st_mode == plain.stat().st_mode


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
