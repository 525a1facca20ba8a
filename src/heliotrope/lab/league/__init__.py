"""The league: every policy on every problem of the suite, and other people's optimizers beside."""

from heliotrope.lab.league.commands import Command
from heliotrope.lab.league.competitors import COMPETITORS, Competitor
from heliotrope.lab.league.matches import Contestant, Match
from heliotrope.lab.league.standings import Place, Score, Standings
from heliotrope.lab.league.tournament import League

__all__ = [
    "COMPETITORS",
    "Command",
    "Competitor",
    "Contestant",
    "League",
    "Match",
    "Place",
    "Score",
    "Standings",
]
