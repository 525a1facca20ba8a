"""Worlds to track, and policies run in them: one world drawn is an episode."""

from heliotrope.environments.drift import GPDrift
from heliotrope.environments.episodes import Environment, Episode, Place, Step
from heliotrope.environments.finite import FiniteEpisode
from heliotrope.environments.function import BoxEpisode, Function
from heliotrope.environments.running import play, run
from heliotrope.environments.table import Table

__all__ = [
    "BoxEpisode",
    "Environment",
    "Episode",
    "FiniteEpisode",
    "Function",
    "GPDrift",
    "Place",
    "Step",
    "Table",
    "play",
    "run",
]
