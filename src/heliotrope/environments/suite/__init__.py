"""Problems with stable ids, on which policies are compared: each knows its optimum over time."""

from heliotrope.environments.suite.drawn import Jumps, Periodic
from heliotrope.environments.suite.logged import Windows
from heliotrope.environments.suite.peaks import MovingPeaks
from heliotrope.environments.suite.problems import SUITE, Problem, World, chosen, problem
from heliotrope.environments.suite.sliced import Sliced

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
