"""Room on the disk for one import: what is unpacked or copied, under a budget, and gone as soon as it is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from stap.errors import BadInput

ROOM = 1 << 30  # bytes that any import may take; a larger one twice its input
RESERVE = 64 << 20  # bytes that stay free on the disk for everybody else


class Scratch:
    """A folder that is ours alone, and what lies in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.given = 0  # bytes of input so far, as they were given: packed, where they were
        self.unpacked = 0  # bytes that came out of it so far, also those that are gone
        self._files: list[tuple[Path, int]] = []  # in the order they were made, with their sizes
        self._named = 0

    @property
    def used(self) -> int:
        return sum(size for _, size in self._files)

    def bursts(self, ratio: int) -> bool:
        """Whether many small pieces together unpack to far more than was given."""
        return self.unpacked > max(ROOM, ratio * self.given)

    def name(self) -> Path:
        """A path that nobody has."""
        self._named += 1
        return self.folder / str(self._named)

    @contextmanager
    def writing(self, where: str) -> Iterator[Spool]:
        """A new file, which counts from now on."""
        path = self.name()
        room = max(ROOM, 2 * self.given) - self.used
        try:
            with open(path, "wb") as file:
                spool = Spool(self, path, file, where, room)
                yield spool
                file.flush()
        except OSError as error:
            why = f"cannot be unpacked in {self.folder} ({error.strerror or error})"
            raise BadInput(where, why, "make room, or set TMPDIR to another disk") from None
        self._files.append((path, path.stat().st_size))

    @contextmanager
    def freed(self) -> Iterator[None]:
        """Whatever is made inside is gone afterwards."""
        kept = len(self._files)
        try:
            yield
        finally:
            for path, _ in self._files[kept:]:
                path.unlink(missing_ok=True)
            del self._files[kept:]


class Spool:
    """A file that is being written under the budget."""

    def __init__(self, scratch: Scratch, path: Path, file: BinaryIO, where: str, room: int) -> None:
        self.path, self._scratch, self._file, self._where, self._room = path, scratch, file, where, room
        self._next_look = RESERVE

    def write(self, data: bytes) -> None:
        """The system's disk is looked at now and then: an import fills nobody's."""
        end = self._file.tell() + len(data)
        if end > max(self._room, 2 * self._scratch.given - self._scratch.used):
            why = f"unpacks to more than {max(ROOM, 2 * self._scratch.given) >> 20} MB"
            raise BadInput(self._where, why, "if you trust it, unpack it yourself and name the files")
        if end > self._next_look:
            self._next_look = end + RESERVE
            if shutil.disk_usage(self.path.parent).free < 2 * RESERVE:
                raise OSError(f"{os.strerror(28)}: fewer than {2 * RESERVE >> 20} MB are free")
        self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def truncate(self, size: int) -> None:
        self._file.truncate(size)
        self._file.seek(size)
