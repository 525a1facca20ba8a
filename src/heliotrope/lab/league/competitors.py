"""The package's policies as competitors, each with its parameters learned from its results alone.

All policies get their parameters alike: from one model of the values (mean, variance, noise,
kernel, length scale, drift), re-estimated from the latest results, by each policy's own theory.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scipy.stats.qmc import Sobol

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments import Place
from heliotrope.lab.league.matches import Player
from heliotrope.ledger import Suggestion
from heliotrope.optimizer import Optimizer
from heliotrope.policies.registry import REGISTRY
from heliotrope.validation import Array

_POINTS = 128  # of a Box, for policies that need a Finite domain


@dataclass(frozen=True)
class PolicyCompetitor:
    """A policy of the registry, by its name."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in REGISTRY:
            raise InputError(f"one of {', '.join(REGISTRY)}", repr(self.name))

    def settings(self) -> Mapping[str, object]:
        """Everything that its matches depend on: its name."""
        return {"policy": self.name}

    @contextmanager
    def player(self, domain: Domain, seed: int) -> Iterator[Player]:
        """An optimizer that plays one episode."""
        entry = REGISTRY[self.name]
        own = finite(domain) if entry.needs_points else domain
        yield OptimizerPlayer(Optimizer(own, entry.adaptive(own), seed), domain)


class OptimizerPlayer:
    """An optimizer as a player."""

    def __init__(self, optimizer: Optimizer, domain: Domain) -> None:
        self._optimizer, self._domain = optimizer, domain
        self._asked: Suggestion | None = None

    def ask(self, t: float, seconds: float) -> Place:
        """Choose a place: an index of a Finite domain, a point of a Box."""
        self._asked = self._optimizer.ask(t)
        if isinstance(self._domain, Finite):
            assert self._asked.index is not None
            return self._asked.index
        return self._asked.x

    def tell(self, t: float, place: Place, y: float, seconds: float) -> None:
        """Take the value at the last place."""
        assert self._asked is not None
        self._optimizer.tell(self._asked, y)

    def spent(self) -> float:
        """Processor time of this process; its differences are the optimizer's alone."""
        return time.process_time()

    def memory(self) -> float:
        """Bytes of the saved optimizer, its history included."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "saved"
            self._optimizer.save(path)
            return float(path.stat().st_size)


def finite(domain: Domain) -> Finite:
    """The points of a Finite domain, or 128 Sobol points of a Box, moved onto its lattices."""
    if isinstance(domain, Finite):
        return domain
    unit: Array = Sobol(domain.dimension, scramble=False).random(_POINTS)
    return Finite(domain.snap(domain.scaled(unit)))


COMPETITORS: Mapping[str, PolicyCompetitor] = {name: PolicyCompetitor(name) for name in REGISTRY}
"""The policies by name."""
