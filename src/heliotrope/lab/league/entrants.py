"""The policies of this package, each with its parameters learned from what it is told alone.

The GP policies and those without a GP get theirs alike: one model of the values (mean, variance,
noise, kernel, length scale, drift), re-estimated from the latest results, from which each policy's
own parameters follow by its own theory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scipy.stats.qmc import Sobol

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError
from heliotrope.history import Suggestion
from heliotrope.lab.environments import Place as Where
from heliotrope.lab.league.matches import Player
from heliotrope.lab.league.ranged import RANGED, Ranged
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy, uniform
from heliotrope.policies.adaptive import NAMES, Adaptive, Named, auto
from heliotrope.validation import Array

_ARMS = 128  # points of a Box for policies that know no neighbours


def _uniform(_: Domain) -> Policy:
    return uniform()


def _adaptive(name: str, _: Domain) -> Policy:
    return Adaptive(Named(name))


def _ranged(name: str, _: Domain) -> Policy:
    return Adaptive(Ranged(name))


@dataclass(frozen=True)
class Entrant:
    """A policy of this package by its name; ``armed`` if it needs a Finite domain."""

    name: str
    make: Callable[[Domain], Policy]
    armed: bool = False

    def settings(self) -> Mapping[str, object]:
        """Everything that its play depends on: its name."""
        return {"policy": self.name}

    @contextmanager
    def player(self, domain: Domain, seed: int) -> Iterator[Player]:
        """An optimizer that plays one episode."""
        here = arms(domain) if self.armed else domain
        yield _Asking(Optimizer(here, self.make(here), seed), domain)


class _Asking:
    """An optimizer as a player."""

    def __init__(self, optimizer: Optimizer, domain: Domain) -> None:
        self._optimizer, self._domain = optimizer, domain
        self._asked: Suggestion | None = None

    def ask(self, t: float, seconds: float) -> Where:
        """Choose a place: an index of a Finite domain, a point of a Box."""
        self._asked = self._optimizer.ask(t)
        if isinstance(self._domain, Finite):
            assert self._asked.index is not None
            return self._asked.index
        return self._asked.x

    def tell(self, t: float, place: Where, y: float, seconds: float) -> None:
        """Take the value of what was asked last."""
        assert self._asked is not None
        self._optimizer.tell(self._asked, y)

    def spent(self) -> float:
        """Processor time of this process: differences of it are the optimizer's alone."""
        return time.process_time()

    def memory(self) -> float:
        """Bytes of the saved optimizer, its history included."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "saved"
            self._optimizer.save(path)
            return float(path.stat().st_size)


def arms(domain: Domain) -> Finite:
    """The points of a Finite domain, or 128 Sobol points of a Box."""
    if isinstance(domain, Finite):
        return domain
    unit: Array = Sobol(domain.dimension, scramble=False).random(_ARMS)
    return Finite(domain.scaled(unit))


def _all() -> list[Entrant]:
    learned = [Entrant(name, partial(_adaptive, name)) for name in NAMES]
    ranged = [Entrant(name, partial(_ranged, name), armed=True) for name in RANGED]
    return [Entrant("auto", auto), *learned, *ranged, Entrant("uniform", _uniform)]


ENTRANTS: Mapping[str, Entrant] = {one.name: one for one in _all()}
"""The policies by name."""


def entrant(name: str) -> Entrant:
    """Return the entrant of a name."""
    if name not in ENTRANTS:
        raise InputError(f"one of {', '.join(ENTRANTS)}", repr(name))
    return ENTRANTS[name]
