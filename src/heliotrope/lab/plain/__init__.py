"""Plain worlds: ordinary functions and ordinary use as data, and a player that records failures."""

from heliotrope.lab.plain.drawing import Choose, draw, world_by
from heliotrope.lab.plain.named import PLAIN_WORLDS
from heliotrope.lab.plain.player import Record, play
from heliotrope.lab.plain.reference import play_reference
from heliotrope.lab.plain.surfaces import (
    Asked,
    OptimizerSurface,
    ReopenedSurface,
    StudySurface,
    Surface,
)
from heliotrope.lab.plain.truth import Truth
from heliotrope.lab.plain.verdict import Verdict, is_quiet, judge
from heliotrope.lab.plain.world import PlainWorld

__all__ = [
    "PLAIN_WORLDS",
    "Asked",
    "Choose",
    "OptimizerSurface",
    "PlainWorld",
    "Record",
    "ReopenedSurface",
    "StudySurface",
    "Surface",
    "Truth",
    "Verdict",
    "draw",
    "is_quiet",
    "judge",
    "play",
    "play_reference",
    "world_by",
]
