"""Replaying logged data: which policy would have tracked it best."""

from heliotrope.lab.replay.drift import Drift, drift_rate
from heliotrope.lab.replay.lessons import Lesson, Neighbours, Tuning, learn
from heliotrope.lab.replay.players import POLICIES
from heliotrope.lab.replay.result import Replay, ReplayRow, Score
from heliotrope.lab.replay.run import replay

__all__ = [
    "POLICIES",
    "Drift",
    "Lesson",
    "Neighbours",
    "Replay",
    "ReplayRow",
    "Score",
    "Tuning",
    "drift_rate",
    "learn",
    "replay",
]
