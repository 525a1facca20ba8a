"""Problems with stable ids, on which policies are compared: each knows its optimum over time."""

from heliotrope.lab.environments.suite.gp import Jumps, Periodic
from heliotrope.lab.environments.suite.log_windows import Windows
from heliotrope.lab.environments.suite.moving_peaks import MovingPeaks
from heliotrope.lab.environments.suite.problems import SUITE, Problem, World, chosen, problem
from heliotrope.lab.environments.suite.sliced import Sliced

__all__ = [
    "SUITE",
    "Jumps",
    "MovingPeaks",
    "Periodic",
    "Problem",
    "Sliced",
    "Windows",
    "World",
    "chosen",
    "problem",
]
