"""Write beside and rename: whatever happens, the old file or the whole new one is there. And tell files apart."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stap.errors import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a draft path in the same folder; on a clean exit it becomes `path`, otherwise it is removed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.touch()
        mode = draft.stat().st_mode
    except OSError as error:
        raise BadInput(str(path), f"cannot write here ({error.strerror})", "choose another place") from None
    try:
        yield draft
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(draft, mode)  # some libraries write beside, too, and leave a file that only its owner reads
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def fingerprint(path: Path) -> str:
    """The first 16 digits of a file's SHA-256: enough to say which one it was."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def named(path: Path) -> dict[str, str]:
    """Which file it was, for whoever reads the figures later."""
    return {"file": str(path), "sha256": fingerprint(path)}
