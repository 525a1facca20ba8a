"""Environments that change over time. An episode is one world drawn from an environment."""

from heliotrope.lab.environments.episodes import (
    Environment,
    Episode,
    Place,
    Step,
    average_regret,
    play,
    run,
)
from heliotrope.lab.environments.finite import FiniteEpisode, MeasuredEpisode
from heliotrope.lab.environments.function import BoxEpisode, Function
from heliotrope.lab.environments.gp_drift import GPDrift
from heliotrope.lab.environments.table import Table

__all__ = [
    "BoxEpisode",
    "Environment",
    "Episode",
    "FiniteEpisode",
    "Function",
    "GPDrift",
    "MeasuredEpisode",
    "Place",
    "Step",
    "Table",
    "average_regret",
    "play",
    "run",
]
