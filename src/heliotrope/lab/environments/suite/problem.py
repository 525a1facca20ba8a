"""A problem of the suite: an id and a world."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Episode


class World(Protocol):
    """An environment that knows the variance of its usual noise."""

    @property
    def noise(self) -> float:
        """Variance of the episodes' usual noise."""

    @property
    def domain(self) -> Domain:
        """Points that can be measured."""

    def episode(self, horizon: int, seed: int) -> Episode:
        """Draw a world of ``horizon`` steps; the same seed gives the same world."""


@dataclass(frozen=True)
class Problem:
    """A problem of the suite. ``make`` builds its world from the paths of its ``files``."""

    id: str
    about: str
    make: Callable[..., World]
    files: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The first part of the id."""
        return self.id.partition("/")[0]

    @property
    def measured(self) -> bool:
        """Whether it needs measured tables."""
        return bool(self.files)

    def missing(self, data: Path) -> tuple[str, ...]:
        """The measured files that the folder ``data`` does not have."""
        return tuple(name for name in self.files if not (data / name).exists())

    def world(self, data: Path | None = None) -> World:
        """The world, cached per process. Measured tables are read from the folder ``data``."""
        return _world(self, data)


@lru_cache(maxsize=64)
def _world(one: Problem, data: Path | None) -> World:
    folder = data or os.environ.get("HELIOTROPE_DATA")
    if one.measured and folder is None:
        raise InputError("a folder of measured tables", "none", "Set --data or $HELIOTROPE_DATA.")
    return one.make(*(Path(folder or "") / name for name in one.files))
