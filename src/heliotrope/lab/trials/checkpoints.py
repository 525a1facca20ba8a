"""Finished trials on disk: one file each, in a folder named after a hash of their settings."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope import __version__
from heliotrope.errors import FormatError, InputError
from heliotrope.serialization import archive

Result = dict[str, NDArray[Any]]

_KIND = "heliotrope.trial"
_VERSION = 1
_PREFIX = "result."  # avoids clashes with the archive's own names


class Checkpoints:
    """The finished trials of one setting.

    Files are written atomically and contain the settings. A file that is damaged or has other
    settings counts as missing.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        text = _canonical(settings)
        self._settings = json.loads(text)
        self._folder = Path(folder) / hashlib.sha256(text.encode()).hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)

    def read(self, number: int) -> Result | None:
        """Return the arrays of a trial, or None if it is not saved."""
        try:
            header, arrays = archive.unpack(
                self._path(number).read_bytes(), _KIND, _VERSION, str(self._path(number))
            )
        except (FileNotFoundError, FormatError):
            return None
        header.pop(archive.DIGEST, None)
        if header != self._header(number):
            return None
        return {name.removeprefix(_PREFIX): array for name, array in arrays.items()}

    def write(self, number: int, result: Result) -> None:
        """Save the arrays of a trial atomically."""
        arrays = {_PREFIX + name: array for name, array in result.items()}
        archive.write_file(self._path(number), archive.pack(self._header(number), arrays))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06d}.npz"

    def _header(self, number: int) -> dict[str, Any]:
        return {
            "format": _KIND,
            "version": _VERSION,
            "settings": self._settings,
            "trial": number,
        }


def fingerprint(values: NDArray[Any]) -> str:
    """A short hash of an array's content."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def as_result(values: object, number: int) -> Result:
    """Check that a trial returned named arrays of numbers or strings."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise InputError("a trial to return named arrays", f"{values!r:.60} from trial {number}")
    return {name: _as_plain(value, f"{name!r} of trial {number}") for name, value in values.items()}


def _as_plain(value: object, name: str) -> NDArray[Any]:
    with suppress(ValueError):  # rows of different lengths
        array = np.asarray(value)
        if not array.dtype.hasobject:
            return array
    raise InputError(f"{name} to be an array of numbers or strings", f"{value!r:.60}")


def _canonical(settings: Mapping[str, Any]) -> str:
    """Canonical JSON of the settings and the package's version."""
    try:
        return json.dumps(
            {"heliotrope": __version__, "settings": dict(settings)},
            sort_keys=True,
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            "settings of JSON values",
            f"{settings!r:.60} ({error})",
            "Use strings, finite numbers, lists and mappings; value.item() for numpy scalars.",
        ) from error
