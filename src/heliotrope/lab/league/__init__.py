"""The league: all policies, and optimizers of other packages, on the problems of the suite."""

from heliotrope.lab.league.commands import CommandCompetitor
from heliotrope.lab.league.competitors import COMPETITORS, OptimizerPlayer, PolicyCompetitor
from heliotrope.lab.league.matches import Competitor, Match
from heliotrope.lab.league.standings import ProblemScore, Standing, Standings
from heliotrope.lab.league.tournament import Tournament

__all__ = [
    "COMPETITORS",
    "CommandCompetitor",
    "Competitor",
    "Match",
    "OptimizerPlayer",
    "PolicyCompetitor",
    "ProblemScore",
    "Standing",
    "Standings",
    "Tournament",
]
