"""Archives: a JSON header and arrays as a zip of plain ``.npy`` entries, without pickle."""

import io
import json
import math
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from heliotrope.errors import FormatError, InputError, MissingFileError
from heliotrope.serialization.codec import ITS_WRITER as ITS_WRITER, Arrays, JsonTree
from heliotrope.surroundings import REAL
from heliotrope.validation import short_repr

HEADER, DIGEST = "header", "digest"
_NPY = (1, 0)  # version of the arrays' format
_KINDS = "biufcSU"  # of arrays: booleans, numbers and texts
_ALIGNED = 16  # bytes


class Archived(ABC):
    """An object that is saved as a file of versioned JSON and plain arrays, without pickle."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]

    @abstractmethod
    def parts(self) -> tuple[JsonTree, Arrays]:
        """Return everything as a JSON tree and arrays, which must not be modified."""

    @classmethod
    @abstractmethod
    def from_parts(cls, header: JsonTree, arrays: Arrays, source: str = "these parts") -> Self:
        """Return the object of saved :meth:`parts`; it continues as the saved one would have."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file."""
        write_file(path, self.dumps())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file of :meth:`save`."""
        return cls.loads(read_file(path), str(path))

    def dumps(self) -> bytes:
        """Return the bytes that :meth:`save` writes."""
        return pack(*self.parts())

    @classmethod
    def loads(cls, data: bytes, source: str = "these bytes") -> Self:
        """Return the object that :meth:`dumps` wrote."""
        return cls.from_parts(*unpack(data, cls.FORMAT, cls.VERSION, source), source)


@contextmanager
def existing(path: str | os.PathLike[str], expected: str) -> Iterator[None]:
    """Raise a MissingFileError that names the path, if it does not exist."""
    try:
        yield
    except FileNotFoundError:
        raise MissingFileError(expected, str(path), "Check the path.", "path") from None


def pack(header: JsonTree, arrays: Arrays) -> bytes:
    """Return the header, with a checksum, and the arrays as one zip."""
    summed = {**header, DIGEST: _digest(header, arrays)}
    text = np.frombuffer(json.dumps(summed, allow_nan=False).encode(), dtype=np.uint8)
    whole = io.BytesIO()
    np.savez(whole, allow_pickle=False, **{HEADER: text}, **arrays)
    return whole.getvalue()


def unpack(data: bytes, kind: str, version: int, source: str) -> tuple[JsonTree, Arrays]:
    """Return the header and the arrays of a zip of this kind and version."""
    with readable(f"a complete {kind} file", source):
        with zipfile.ZipFile(io.BytesIO(data)) as whole:
            _check_sizes(whole.infolist(), len(data))
            arrays = {_stem(name): _array(whole.read(name)) for name in whole.namelist()}
        header = json.loads(arrays.pop(HEADER).tobytes())
    check_header(header, kind, version, source)
    _check_digest(header, arrays, source)
    return header, arrays


def _check_sizes(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse compressed entries: this package stores them as they are, so none can expand."""
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError("entries of this package are not compressed")
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("entries that are larger than the file")


def _stem(name: str) -> str:
    return name.removesuffix(".npy")


def _array(data: bytes) -> NDArray[Any]:
    """The array of a ``.npy`` entry, whose shape must agree with the bytes that are there."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != _NPY:
        raise ValueError("an array of another format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in _KINDS or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"{dtype} {shape} is no plain array with all its values")
    return np.load(io.BytesIO(data), allow_pickle=False)  # type: ignore[no-any-return]


def _digest(header: JsonTree, arrays: Arrays) -> str:
    """A checksum of everything but itself, which reveals files that were changed by accident."""
    text = json.dumps({key: header[key] for key in header if key != DIGEST}, sort_keys=True)
    whole = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        whole.update(f"{name} {array.dtype.str} {array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def _check_digest(header: JsonTree, arrays: Arrays, source: str) -> None:
    if header.get(DIGEST) != _digest(header, arrays):
        raise FormatError("a file as it was written", f"a changed one, {source}", "Use a copy.")


def check_header(header: JsonTree, kind: str, version: int, source: str) -> None:
    """Raise an error for a header of another kind or version."""
    if not isinstance(header, dict) or header.get("format") != kind:
        raise FormatError(f"a {kind} file", f"another format in {source}")
    if header.get("version") != version:
        raise FormatError(
            f"a {kind} file of version {version}",
            f"version {short_repr(header.get('version'))}",
            ITS_WRITER,
        )


def pack_flat(header: JsonTree, arrays: Arrays) -> bytes:
    """Return header and arrays as consecutive bytes: faster than a zip, without checksums."""
    index = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    text = json.dumps([header, index], allow_nan=False).encode()
    text += b" " * (-len(text) % _ALIGNED)
    parts = [len(text).to_bytes(_ALIGNED, "little"), text]
    for array in arrays.values():
        parts += [array.tobytes(), bytes(-array.nbytes % _ALIGNED)]
    return b"".join(parts)


def unpack_flat(data: bytes, kind: str, version: int, source: str) -> tuple[JsonTree, Arrays]:
    """Return the header and the read-only arrays of :func:`pack_flat`."""
    arrays: Arrays = {}
    with readable(f"a complete {kind}", source):
        start = _ALIGNED + int.from_bytes(data[:_ALIGNED], "little")
        header, index = json.loads(data[_ALIGNED:start])
        for name, (dtype, shape) in index.items():
            if np.dtype(dtype).kind not in _KINDS or min(shape, default=0) < 0:
                raise ValueError(f"{dtype} {shape} is no array of numbers")
            flat = np.frombuffer(data, dtype, math.prod(shape), start)
            arrays[name] = flat.reshape(shape)
            start += flat.nbytes + -flat.nbytes % _ALIGNED
    check_header(header, kind, version, source)
    return header, arrays


@contextmanager
def readable(expected: str, source: str) -> Iterator[None]:
    """Report any failure in the block to read saved data as a FormatError."""
    try:
        yield
    except FormatError:
        raise
    except Exception as error:  # numpy and zipfile raise many kinds of errors
        got = f"{source}, which is unreadable ({error!r})"
        raise FormatError(expected, got, "Is it truncated?") from error


def _as_file(path: object) -> Path:
    """Return the path of a file, or raise an InputError."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InputError("the path of a file", short_repr(path), "", "path")
    file = Path(path)
    if file.is_dir():
        raise InputError("the path of a file", f"{file}, a folder", "Name a file in it.", "path")
    return file


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a file; MissingFileError."""
    file = _as_file(path)
    with existing(path, "an existing file"):
        return file.read_bytes()


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: a crash leaves the previous file unchanged."""
    target = _as_file(path)
    temporary = target.with_name(f".{target.name}.{REAL.uid()[:8]}")
    try:
        with existing(path, "a file in an existing folder"), temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
