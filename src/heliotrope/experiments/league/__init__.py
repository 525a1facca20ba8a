"""The league: every policy on every problem of the suite, and other people's optimizers beside."""

from heliotrope.experiments.league.commands import Command
from heliotrope.experiments.league.entrants import ENTRANTS, Entrant, entrant
from heliotrope.experiments.league.matches import Contestant, Match
from heliotrope.experiments.league.season import League
from heliotrope.experiments.league.standings import Place, Score, Standings

__all__ = [
    "ENTRANTS",
    "Command",
    "Contestant",
    "Entrant",
    "League",
    "Match",
    "Place",
    "Score",
    "Standings",
    "entrant",
]
