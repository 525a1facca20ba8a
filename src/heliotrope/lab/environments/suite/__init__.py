"""The suite: benchmark problems with stable ids and known optima."""

from heliotrope.lab.environments.suite.gp import Jumps, Periodic
from heliotrope.lab.environments.suite.log_windows import LogWindows
from heliotrope.lab.environments.suite.moving_peaks import MovingPeaks
from heliotrope.lab.environments.suite.problems import (
    SUITE,
    Problem,
    World,
    problem,
    select_problems,
)
from heliotrope.lab.environments.suite.sliced import Sliced

__all__ = [
    "SUITE",
    "Jumps",
    "LogWindows",
    "MovingPeaks",
    "Periodic",
    "Problem",
    "Sliced",
    "World",
    "problem",
    "select_problems",
]
