"""Write beside and rename: whatever happens, the old file or the whole new one is there. And tell files apart.

A draft has a name that nobody guesses and is locked by whoever writes it, so any number of processes and threads may
save to one path, and what a killed one left behind can be told from what is being written.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stap.errors import BadInput, short

PRIVATE = 0o600  # read by its owner alone
_ENDING, _NAMED = ".draft", 32  # a draft's name begins with so many characters of the file's
_ELSEWHERE = "choose another place"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


@contextmanager
def replacing(path: Path, private: bool = False) -> Iterator[Path]:
    """Give a draft in the same folder; on a clean exit it becomes `path`, otherwise it is removed.

    A link stays and what it points to is replaced, with the mode it had. A new file is as readable as any other, or
    `private`. The one who asks writes to the draft by its path, and may put another file there.
    """
    target, old = _target(path)
    clear_drafts(target.parent, _front(target.name))
    with _telling(path):
        draft, handle = _new_draft(target, PRIVATE if private else 0o666)
    try:
        with _telling(path):
            mode = stat.S_IMODE(os.fstat(handle).st_mode if old is None else old.st_mode) & 0o777
            os.fchmod(handle, PRIVATE)  # until it is whole
            yield draft
            _settle(draft, mode, old)
            os.replace(draft, target)
            _sync_folder(target.parent)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        os.close(handle)


def clear_drafts(folder: Path, front: str = ".") -> None:
    """Remove the drafts that killed processes left: those whose names begin so and that nobody holds."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(front) and entry.name.endswith(_ENDING) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _clear(entry.path)


def as_path(value: Path | str) -> Path:
    """What somebody gave for a path."""
    if not isinstance(value, str | os.PathLike):
        raise BadInput(short(value), "no path", "give the path of a file")
    return Path(value)


def regular(path: Path) -> Path:
    """A regular file that is there: nobody waits at a pipe, or empties a device that never ends."""
    try:
        str(path).encode()  # what opens it in the end wants a name in UTF-8
        mode = os.stat(path).st_mode
    except ValueError:
        raise BadInput(str(path), "no possible file name", "check the path") from None
    except OSError as error:
        raise BadInput(str(path), f"cannot read it ({error.strerror})", "check the path") from None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise BadInput(str(path), f"cannot read it (it is {what})", "check the path")
    return path


def read_bytes(path: Path, largest: int) -> bytes:
    """A whole regular file, if it is not larger."""
    try:
        with open(regular(path), "rb") as file:
            if os.fstat(file.fileno()).st_size > largest:
                raise BadInput(str(path), f"more than {largest >> 20} MB", "check the path")
            return file.read(largest)
    except OSError as error:
        raise BadInput(str(path), f"cannot read it ({error.strerror})", "check the path") from None


def fingerprint(path: Path) -> str:
    """The first 16 digits of a file's SHA-256: enough to say which one it was."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def named(path: Path) -> dict[str, str]:
    """Which file it was, for whoever reads the figures later."""
    return {"file": str(path), "sha256": fingerprint(path)}


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """What the system refuses is said in one line."""
    try:
        yield
    except OSError as error:
        raise BadInput(str(path), f"cannot write here ({error.strerror or error})", _ELSEWHERE) from None


def _target(path: Path) -> tuple[Path, os.stat_result | None]:
    """Where links lead, and what is there now: nothing, or a regular file."""
    try:
        with _telling(path):
            target = Path(os.path.realpath(path))
            try:
                old = os.lstat(target)
            except FileNotFoundError:
                return target, None
    except ValueError:  # a NUL in it, or what no file system can encode
        raise BadInput(str(path), "no possible file name", _ELSEWHERE) from None
    if not stat.S_ISREG(old.st_mode):
        what = "a folder" if stat.S_ISDIR(old.st_mode) else "no regular file"
        raise BadInput(str(path), f"cannot write here (it is {what})", _ELSEWHERE)
    return target, old


def _front(name: str) -> str:
    return f".{name[:_NAMED]}."


def _new_draft(target: Path, mode: int) -> tuple[Path, int]:
    """A file that was not there before, locked; where the lock came too late for a cleaner, another one."""
    while True:
        draft = target.with_name(f"{_front(target.name)}{secrets.token_hex(8)}{_ENDING}")
        handle = os.open(draft, _NEW, mode)
        if _lock(handle) and os.fstat(handle).st_nlink:
            return draft, handle
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether it is ours now. Where the file system has no locks it is, and nothing is cleaned there."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def _clear(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(handle)


def _settle(draft: Path, mode: int, old: os.stat_result | None) -> None:
    """On the disk, with its rights, before it gets its name."""
    handle = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if old is not None and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):  # only root may give files away
                os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, mode)
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """So that the new name outlives a power cut; some file systems cannot, some folders may not be read."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
