"""Clients' keys: which ask each stands for, so that an ask that is sent again is no second one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REMEMBERED = 1000  # closed asks, whose late repetitions are known


class Keys:
    """Ids of asks by key: of all open asks that have one, and of the latest closed ones."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._closed: dict[str, str] = {}  # the one closed longest ago comes first
        self._key_of: dict[str, str] = {}  # of open asks, by id

    def begin(self, key: str, id: str) -> None:
        """Have a key stand for an ask from now on."""
        self._closed.pop(key, None)
        self._open[key] = id
        self._key_of[id] = key

    def close(self, id: str) -> None:
        """Take note that an ask, with a key or without one, is not open any more."""
        key = self._key_of.pop(id, None)
        if key is None:
            return
        del self._open[key]
        self._closed[key] = id
        if len(self._closed) > _REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def find(self, key: str) -> str | None:
        """The ask that a key stands for."""
        return self._open.get(key) or self._closed.get(key)

    def to_json(self) -> dict[str, Any]:
        """All keys, for a snapshot."""
        return {"keys": self._open, "closed_keys": self._closed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Keys:
        """Read what :meth:`to_json` gave, or what an earlier version did: the open ones alone."""
        keys = cls()
        for key, id in data["keys"].items():
            keys.begin(key, id)
        keys._closed = dict(data.get("closed_keys", {}))
        return keys
