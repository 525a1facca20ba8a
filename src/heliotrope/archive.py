"""One file that holds a JSON header and arrays: a zip of plain ``.npy`` entries, no pickle."""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.errors import FormatError

if TYPE_CHECKING:  # for its types alone: it loads scikit-learn
    from heliotrope.codec import Arrays, Json

HEADER = "header"


def pack(header: Json, arrays: Arrays) -> bytes:
    """The header and the arrays as one zip."""
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    whole = io.BytesIO()
    np.savez(whole, allow_pickle=False, **{HEADER: text}, **arrays)
    return whole.getvalue()


def unpack(data: bytes, kind: str, version: int, source: str) -> tuple[Json, Arrays]:
    """The header and the arrays of something of the given kind, of this version or an older one."""
    header, arrays = _open(data, kind, source)
    if not isinstance(header, dict) or header.get("format") != kind:
        raise FormatError(f"a {kind} file", f"something else in {source}")
    if not isinstance(header.get("version"), int):
        raise FormatError("a whole number as version", repr(header.get("version")))
    if header["version"] > version:
        raise FormatError(
            f"a {kind} file of version {version} or older",
            f"version {header['version']}",
            "Update heliotrope to read it.",
        )
    return header, arrays


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the whole file or nothing: a crash leaves the older file as it was."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _open(data: bytes, kind: str, source: str) -> tuple[Json, Arrays]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as whole:
            broken = whole.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"bad checksum of {broken}")
        with np.load(io.BytesIO(data), allow_pickle=False) as entries:
            arrays: dict[str, Any] = {name: entries[name] for name in entries.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
    except Exception as error:  # numpy and zipfile raise many kinds on foreign bytes
        raise FormatError(
            f"a whole {kind} file", f"{source}, which cannot be read ({error})", "Is it truncated?"
        ) from error
    return header, arrays
