"""Problems whose worlds are drawn at random."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from heliotrope.domains import Box, Finite, grid
from heliotrope.kernels import RBF, Kernel, Matern
from heliotrope.lab.environments.gp_drift import GPDrift
from heliotrope.lab.environments.suite.faults import Faulty, StandIns, outages, spikes
from heliotrope.lab.environments.suite.functions import FUNCTIONS
from heliotrope.lab.environments.suite.gp import Jumps, Periodic
from heliotrope.lab.environments.suite.moving_peaks import MovingPeaks
from heliotrope.lab.environments.suite.noise import Decades, UnevenNoise
from heliotrope.lab.environments.suite.problem import Problem, World
from heliotrope.lab.environments.suite.sliced import Sliced
from heliotrope.lab.environments.suite.waves import Waves
from heliotrope.priors import Forgetting, Prior, Static, TimeKernel
from heliotrope.spaces import Boolean, Categorical, Integer, Real, SearchSpace
from heliotrope.terms import Drifts, Season, Stays

_EPSILONS = (0.001, 0.01, 0.03)
_NOISE = 0.01
_SIDE = 20  # of the grid of the unit square
_SQUARE = f"the unit square's {_SIDE} x {_SIDE} points"
_STEADY = Forgetting(0.01)

_KERNELS: Mapping[str, Kernel] = {"se": RBF(0.2), "matern": Matern(0.2, nu=2.5)}
_SPACES: Mapping[str, SearchSpace] = {
    "categories": SearchSpace(
        {
            "kind": Categorical(["a", "b", "c", "d", "e"]),
            "on": Boolean(),
            "x": Real(0.0, 1.0),
            "y": Real(0.0, 1.0),
        }
    ),
    "integers": SearchSpace(
        {
            "kind": Categorical(["a", "b", "c"]),
            "threads": Integer(1, 8),
            "depth": Integer(0, 20),
            "x": Real(0.0, 1.0),
        }
    ),
}
_LENGTHS = {Categorical: 1.0, Boolean: 0.8, Integer: 0.3, Real: 0.3}  # of a unit coordinate


def _square() -> Finite:
    return grid(_SIDE, _SIDE)


def _prior(kernel: str, time: TimeKernel, noise: float = _NOISE) -> Prior:
    return Prior(_KERNELS[kernel], time, noise)


def _paper(kernel: str, epsilon: float) -> World:
    return GPDrift(_square(), _prior(kernel, Forgetting(epsilon)))


def _jumps(time: TimeKernel, every: float) -> World:
    return Jumps(_square(), _prior("matern", time), every)


def _periodic(period: float) -> World:
    return Periodic(_square(), _prior("matern", Static()), period)


def _faulty(stand_ins: StandIns) -> World:
    return Faulty(GPDrift(_square(), _prior("matern", _STEADY)), stand_ins)


def _daily_level() -> World:
    space = _KERNELS["matern"]
    terms = [
        Stays(0.5 * space),
        Drifts(0.5 * space, epsilon=0.03),
        Season(25.0, period=24.0, harmonics=2, epsilon=0.001),
    ]
    return GPDrift(_square(), Prior(noise=_NOISE, terms=terms))


def _sparse(dimension: int) -> World:
    cube = Box(np.zeros(dimension), np.ones(dimension))
    return Waves(cube, [0.3, 0.3], _STEADY.epsilon, _NOISE)


def _mixed(name: str) -> World:
    parameters = _SPACES[name].parameters.values()
    lengths = [_LENGTHS[type(one)] for one in parameters for _ in range(one.width)]
    return Waves(_SPACES[name].cube, lengths, _STEADY.epsilon, _NOISE)


def _uneven() -> World:
    return UnevenNoise(_square(), _prior("matern", _STEADY, noise=0.05), factor=100.0)


def _decades(count: int) -> World:
    return Decades(_square(), _prior("matern", _STEADY, noise=0.04), count)


def gp_problems() -> list[Problem]:
    """The paper's model, jumps and periods."""
    paper = [
        Problem(
            f"paper/{kernel}/{epsilon:g}",
            f"The paper's model over {_SQUARE}: {_KERNELS[kernel]}, epsilon {epsilon:g}.",
            partial(_paper, kernel, epsilon),
        )
        for kernel in _KERNELS
        for epsilon in _EPSILONS
    ]
    still, slow = Static(), Forgetting(0.003)
    return [
        *paper,
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
    ]


def function_problems() -> list[Problem]:
    """Moving peaks and sliced test functions."""
    peaks = [
        Problem(
            "peaks/steady",
            "Five cones in the unit square that move by 0.01 per step.",
            partial(MovingPeaks, 2, 1, 0.01),
        ),
        Problem(
            "peaks/bursts",
            "Five cones in the unit square that move by 0.1 every 50 steps.",
            partial(MovingPeaks, 2, 50, 0.1),
        ),
    ]
    sliced = [
        Problem(
            f"sliced/{name}",
            f"{name}: {function.dimension - 1} of its {function.dimension} coordinates are chosen, "
            "the last one is time.",
            partial(Sliced, name),
        )
        for name, function in FUNCTIONS.items()
    ]
    return [*peaks, *sliced]


def measurement_problems() -> list[Problem]:
    """Faults, uneven noise, a shared level, and values that span decades."""
    drift = f"Drift over {_SQUARE}, epsilon {_STEADY.epsilon:g}"
    return [
        Problem(
            "faults/spikes",
            f"{drift}; 10 % of the results are outliers of 3 to 100 deviations.",
            partial(_faulty, spikes),
        ),
        Problem(
            "faults/outages",
            f"{drift}; for runs of 1 to 30 steps the result is a constant, 10 deviations off.",
            partial(_faulty, outages),
        ),
        Problem(
            "level/day",
            "A level with a cycle of 24 steps that all places share, its deviation 5 times that "
            "of the differences between places, which partly stay and partly drift.",
            _daily_level,
        ),
        Problem(
            "noise/uneven",
            f"{drift}; the noise variance differs between places by a factor of 100.",
            _uneven,
        ),
        *(
            Problem(
                f"decades/{count}",
                f"{drift}, of the logarithm: positive values that span {count} decades, with "
                "multiplicative noise.",
                partial(_decades, count),
            )
            for count in (3, 6)
        ),
    ]


def box_problems() -> list[Problem]:
    """Boxes with coordinates that do not matter, and mixed spaces."""
    sparse = [
        Problem(
            f"sparse/{dimension}",
            f"A drifting function of 2 of {dimension} coordinates, others in each trial.",
            partial(_sparse, dimension),
        )
        for dimension in (6, 10)
    ]
    mixed = [
        Problem(
            f"mixed/{name}",
            f"A drifting function of {', '.join(map(repr, space.parameters.values()))}.",
            partial(_mixed, name),
        )
        for name, space in _SPACES.items()
    ]
    return [*sparse, *mixed]
