"""Results that are kept in a file, so that a long benchmark continues where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Kept:
    """Lines of JSON by key, in ``out/live/NAME.jsonl``."""

    def __init__(self, name: str) -> None:
        self._path = Path("out/live") / f"{name}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self._known: dict[str, Any] = dict(map(json.loads, lines))

    def __contains__(self, key: object) -> bool:
        return str(key) in self._known

    def get(self, key: object, compute: Callable[[], Any]) -> Any:
        """The result of a key, which is computed and kept if it is missing."""
        name = str(key)
        if name not in self._known:
            self._known[name] = compute()
            with self._path.open("a") as file:
                file.write(json.dumps([name, self._known[name]]) + "\n")
        return self._known[name]
