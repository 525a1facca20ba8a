"""The problems of the suite, by id."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from heliotrope.domains import Domain, grid
from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Episode
from heliotrope.lab.environments.gp_drift import GPDrift
from heliotrope.lab.environments.suite.functions import FUNCTIONS
from heliotrope.lab.environments.suite.gp import Jumps, Periodic
from heliotrope.lab.environments.suite.log_windows import LogWindows
from heliotrope.lab.environments.suite.moving_peaks import MovingPeaks
from heliotrope.lab.environments.suite.sliced import Sliced
from heliotrope.priors import Forgetting, Prior, Static, TimeKernel

_EPSILONS = (0.001, 0.01, 0.03)
_NOISE = 0.01
_SIDE = 20  # of the grid of the unit square

_KERNELS: Mapping[str, Kernel] = {"se": RBF(0.2), "matern": Matern(0.2, nu=2.5)}
_TABLES = {  # file, file of locations, prefix of the places' names
    "intel": ("intel_temperature", "intel_locations", ""),
    "i405": ("traffic_speed", "traffic_locations", ""),
    "i5": ("traffic_i5_3days", "traffic_i5_locations", "S"),
    "metrla": ("traffic_metrla_week", "traffic_metrla_locations", ""),
    "pemsbay": ("traffic_pemsbay16", "traffic_pemsbay16_locations", ""),
}


class World(Protocol):
    """An environment that knows the variance of its noise."""

    @property
    def noise(self) -> float:
        """Variance of the measurement noise."""

    @property
    def domain(self) -> Domain:
        """Points that can be measured."""

    def episode(self, horizon: int, seed: int) -> Episode:
        """Draw a world of ``horizon`` steps; the same seed gives the same world."""


@dataclass(frozen=True)
class Problem:
    """A problem of the suite. ``make`` builds its world from the folder of measured tables."""

    id: str
    about: str
    make: Callable[[Path | None], World]
    measured: bool = False

    @property
    def family(self) -> str:
        """The first part of the id."""
        return self.id.partition("/")[0]

    def world(self, data: Path | None = None) -> World:
        """The world, cached per process. Measured tables are read from the folder ``data``."""
        return _world(self.id, data)


def problem(id: str) -> Problem:
    """Return the problem with an id, such as "paper/se/0.01".

    Examples
    --------
    >>> world = problem("paper/se/0.01").world()
    >>> world.noise, len(world.domain), world.episode(horizon=30, seed=0).horizon
    (0.01, 400, 30)
    """
    if id not in SUITE:
        raise InputError("the id of a problem", repr(id), f"The ids are {', '.join(SUITE)}.")
    return SUITE[id]


def select_problems(wanted: str | None = None, *, measured: bool = True) -> tuple[str, ...]:
    """Return the ids in a comma-separated list of ids and first parts of ids.

    Without a list it returns all ids; ``measured=False`` omits those that need measured tables.

    Examples
    --------
    >>> select_problems("jumps, peaks/steady")
    ('jumps/still', 'jumps/drift', 'peaks/steady')
    """
    if wanted is None:
        return tuple(id for id, one in SUITE.items() if measured or not one.measured)
    parts = (part.strip() for part in wanted.split(","))
    ids = (
        id
        for part in parts
        for id in [id for id in SUITE if id.startswith(f"{part}/")] or [problem(part).id]
    )
    return tuple(dict.fromkeys(ids))


@lru_cache(maxsize=64)
def _world(id: str, data: Path | None) -> World:
    return problem(id).make(data)


def _prior(kernel: str, time: TimeKernel) -> Prior:
    return Prior(_KERNELS[kernel], time, _NOISE)


def _paper(kernel: str, epsilon: float, _: Path | None) -> World:
    return GPDrift(grid(_SIDE, _SIDE), _prior(kernel, Forgetting(epsilon)))


def _jumps(time: TimeKernel, every: float, _: Path | None) -> World:
    return Jumps(grid(_SIDE, _SIDE), _prior("matern", time), every)


def _periodic(period: float, _: Path | None) -> World:
    return Periodic(grid(_SIDE, _SIDE), _prior("matern", Static()), period)


def _peaks(every: int, shift: float, _: Path | None) -> World:
    return MovingPeaks(2, every, shift)


def _sliced(name: str, _: Path | None) -> World:
    return Sliced(name)


def _table(name: str, data: Path | None) -> World:
    folder = data or os.environ.get("HELIOTROPE_DATA")
    if folder is None:
        raise InputError("a folder of measured tables", "none", "Set --data or $HELIOTROPE_DATA.")
    log, locations, prefix = _TABLES[name]
    return LogWindows(Path(folder) / f"{log}.csv.gz", Path(folder) / f"{locations}.csv", prefix)


def _problems() -> list[Problem]:
    square = f"the unit square's {_SIDE} x {_SIDE} points"
    drift = [
        Problem(
            f"paper/{kernel}/{epsilon:g}",
            f"The paper's model over {square}: {_KERNELS[kernel]}, epsilon {epsilon:g}.",
            partial(_paper, kernel, epsilon),
        )
        for kernel in _KERNELS
        for epsilon in _EPSILONS
    ]
    still, slow = Static(), Forgetting(0.003)
    changing = [
        Problem(
            "jumps/still",
            "A static function that jumps to a new one about every 75 steps.",
            partial(_jumps, still, 75.0),
        ),
        Problem(
            "jumps/drift",
            "Steady drift, epsilon 0.003, with a jump to a new function about every 75 steps.",
            partial(_jumps, slow, 75.0),
        ),
        Problem("periodic/50", "A function with a period of 50 steps.", partial(_periodic, 50.0)),
        Problem(
            "periodic/200", "A function with a period of 200 steps.", partial(_periodic, 200.0)
        ),
        Problem(
            "peaks/steady",
            "Five cones in the unit square that move by 0.01 per step.",
            partial(_peaks, 1, 0.01),
        ),
        Problem(
            "peaks/bursts",
            "Five cones in the unit square that move by 0.1 every 50 steps.",
            partial(_peaks, 50, 0.1),
        ),
    ]
    sliced = [
        Problem(
            f"sliced/{name}",
            f"{name}: {function.dimension - 1} of its {function.dimension} coordinates are chosen, "
            "the last one is time.",
            partial(_sliced, name),
        )
        for name, function in FUNCTIONS.items()
    ]
    tables = [
        Problem(f"table/{name}", f"Windows of {log}.", partial(_table, name), measured=True)
        for name, (log, _, _) in _TABLES.items()
    ]
    return [*drift, *changing, *sliced, *tables]


SUITE: Mapping[str, Problem] = {one.id: one for one in _problems()}
"""Every problem by its id."""
