"""One file that holds a JSON header and arrays: a zip of plain ``.npy`` entries, no pickle."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.codec import Arrays, Json
from heliotrope.errors import FormatError

HEADER = "header"


def write(path: str | os.PathLike[str], header: Json, arrays: Arrays) -> None:
    """Write the whole file or nothing: a crash leaves the older file as it was."""
    target = Path(path)
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            np.savez(file, allow_pickle=False, **{HEADER: text}, **arrays)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str], kind: str, version: int) -> tuple[Json, Arrays]:
    """Read a file of the given kind, of this version or an older one."""
    header, arrays = _open(Path(path), kind)
    if not isinstance(header, dict) or header.get("format") != kind:
        raise FormatError(f"a {kind} file", f"something else in {path}")
    if not isinstance(header.get("version"), int):
        raise FormatError("a whole number as version", repr(header.get("version")))
    if header["version"] > version:
        raise FormatError(
            f"a {kind} file of version {version} or older",
            f"version {header['version']}",
            "Update heliotrope to read it.",
        )
    return header, arrays


def _open(path: Path, kind: str) -> tuple[Json, Arrays]:
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as whole:
            broken = whole.testzip()
            if broken is not None:
                raise zipfile.BadZipFile(f"bad checksum of {broken}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as entries:
                arrays: dict[str, Any] = {name: entries[name] for name in entries.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # numpy and zipfile raise many kinds on foreign bytes
        raise FormatError(
            f"a whole {kind} file", f"{path}, which cannot be read ({error})", "Is it truncated?"
        ) from error
    return header, arrays
