"""Checksums that reveal accidental damage to a log.

Each event has a checksum of itself and of the checksum before it. The chain starts with a checksum
of the study's name and uid. The row of the study holds the last event's checksum and a checksum of
the row itself. So a changed, missing, added or swapped event is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

_BYTES = 16
LENGTH = 2 * _BYTES  # hexadecimal digits of a checksum


def seed(name: str, uid: str) -> str:
    """The start of a study's chain."""
    return _digest(f"{uid} {name}".encode())


def link(previous: str, seq: int, at: float, text: str) -> str:
    """The checksum of an event."""
    data = f"{previous} {seq} {at!r} {text}".encode()
    return blake2b(data, digest_size=_BYTES).hexdigest()  # inlined: it runs once per event


def chain(previous: str, seq: int, at: float, texts: Iterable[str]) -> list[str]:
    """Checksums of the events that follow number ``seq``."""
    checksums = []
    for number, text in enumerate(texts, start=seq + 1):
        previous = link(previous, number, at, text)
        checksums.append(previous)
    return checksums


def row_checksum(*values: object) -> str:
    """The checksum of a study's row."""
    return _digest(repr(values).encode())


def snapshot_checksum(event: str, data: bytes) -> str:
    """The checksum of a snapshot and of the last event in it, hence of the log up to there."""
    return _digest(event.encode() + data)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_BYTES).hexdigest()
