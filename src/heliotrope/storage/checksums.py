"""What tells an event as it was written from one that was damaged since.

Each event carries a checksum of itself and of the checksum before it; the first one follows one
of the study's identity. A study's row carries a checksum of the row, and in it that of the last
event: nothing can be changed, left out, added or exchanged unnoticed by accident.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

_BYTES = 16
LENGTH = 2 * _BYTES  # hexadecimal digits of a checksum


def seed(name: str, uid: str) -> str:
    """The checksum that a study's first event follows."""
    return _digest(f"{uid} {name}".encode())


def link(previous: str, seq: int, at: float, text: str) -> str:
    """The checksum of an event."""
    data = f"{previous} {seq} {at!r} {text}".encode()
    return blake2b(data, digest_size=_BYTES).hexdigest()  # not _digest: long logs feel a call


def chain(previous: str, seq: int, at: float, texts: Iterable[str]) -> list[str]:
    """Checksums of the events that follow number ``seq``."""
    checksums = []
    for number, text in enumerate(texts, start=seq + 1):
        previous = link(previous, number, at, text)
        checksums.append(previous)
    return checksums


def seal(*values: object) -> str:
    """The checksum of a study's row."""
    return _digest(repr(values).encode())


def snapshot_seal(event: str, data: bytes) -> str:
    """The checksum of a snapshot, and by that of its last event of the history that led to it."""
    return _digest(event.encode() + data)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_BYTES).hexdigest()
