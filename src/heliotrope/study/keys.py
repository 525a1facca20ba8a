"""The keys of asks and results, which make commands safe to repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REMEMBERED = 1000  # closed asks whose keys are kept


class Keys:
    """The ids of all open asks with a key, and of the latest closed ones, by key.

    An ask that is repeated with its key is no new ask.
    """

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._closed: dict[str, str] = {}  # oldest first
        self._key_of: dict[str, str] = {}  # keys of open asks by id

    def begin(self, key: str, id: str) -> None:
        self._closed.pop(key, None)
        self._open[key] = id
        self._key_of[id] = key

    def close(self, id: str) -> None:
        """Note that an ask, with or without a key, is closed."""
        key = self._key_of.pop(id, None)
        if key is None:
            return
        del self._open[key]
        self._closed[key] = id
        if len(self._closed) > _REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def find(self, key: str | None) -> str | None:
        """The id of the ask with a key, or None."""
        return None if key is None else self._open.get(key) or self._closed.get(key)

    def to_json(self) -> dict[str, Any]:
        return {"keys": self._open, "closed_keys": self._closed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Keys:
        """Read the keys of a snapshot."""
        keys = cls()
        for key, id in data["keys"].items():
            keys.begin(key, id)
        keys._closed = dict(data["closed_keys"])
        return keys
