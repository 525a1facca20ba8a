"""The suite: benchmark problems with stable ids and known optima."""

from heliotrope.lab.environments.suite.faults import Faulty
from heliotrope.lab.environments.suite.gp import Jumps, Periodic
from heliotrope.lab.environments.suite.log_windows import LogWindows
from heliotrope.lab.environments.suite.moving_peaks import MovingPeaks
from heliotrope.lab.environments.suite.noise import Decades, UnevenNoise
from heliotrope.lab.environments.suite.problem import Problem, World
from heliotrope.lab.environments.suite.problems import (
    SUITE,
    playable_problems,
    problem,
    select_problems,
)
from heliotrope.lab.environments.suite.relays import Relays
from heliotrope.lab.environments.suite.sliced import Sliced
from heliotrope.lab.environments.suite.waves import Waves

__all__ = [
    "SUITE",
    "Decades",
    "Faulty",
    "Jumps",
    "LogWindows",
    "MovingPeaks",
    "Periodic",
    "Problem",
    "Relays",
    "Sliced",
    "UnevenNoise",
    "Waves",
    "World",
    "playable_problems",
    "problem",
    "select_problems",
]
