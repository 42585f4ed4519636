"""Two hashes in a safetensors file's metadata: put there when it is written, held against it when it is read.

They notice a flipped bit or a lost block. They say nothing of who wrote the file: whoever forges one can seal it too,
so everything in a sealed file is checked as in any other. A file without them, as older ones are, passes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import save

from stap.errors import BadInput

TENSORS = "sha256"  # of the tensors' bytes, in the order of the file
TEXTS = "texts_sha256"  # of all other entries of the metadata, by name: name, NUL, text, NUL
LONGEST = 1 << 20  # bytes of a header
_BLANK = "0" * 64


def sealed(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytearray:
    """A safetensors file with both hashes in it."""
    blank = {**metadata, TENSORS: _BLANK, TEXTS: _BLANK}
    data = bytearray(save(dict(tensors), blank))
    begin = 8 + int.from_bytes(data[:8], "little")
    texts = {**metadata, TENSORS: hashlib.sha256(memoryview(data)[begin:]).hexdigest()}
    for name, digest in ((TENSORS, texts[TENSORS]), (TEXTS, _of_texts(texts))):
        place = data.index(f'"{name}":"{_BLANK}"'.encode(), 0, begin) + len(name) + 4
        data[place : place + len(digest)] = digest.encode()
    return data


def check(path: Path) -> None:
    """Refuse a file whose hashes are not those of its contents; whatever else may be wrong with it is not seen here."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        metadata = _metadata(file.read(size)) if size <= LONGEST else {}
        wrong = TEXTS in metadata and _of_texts(metadata) != metadata[TEXTS]
        if wrong or (TENSORS in metadata and hashlib.file_digest(file, "sha256").hexdigest() != metadata[TENSORS]):
            raise BadInput(str(path), "damaged: not what was written (its hash differs)", "fetch or make it again")


def _metadata(header: bytes) -> dict[str, str]:
    try:
        texts = json.loads(header)["__metadata__"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return {name: str(text) for name, text in texts.items()} if isinstance(texts, dict) else {}


def _of_texts(metadata: Mapping[str, str]) -> str:
    entries = (f"{name}\0{text}\0" for name, text in sorted(metadata.items()) if name != TEXTS)
    return hashlib.sha256("".join(entries).encode("utf-8", "surrogatepass")).hexdigest()
