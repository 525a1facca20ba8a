"""Replaying logged data: which policy would have tracked it best."""

from heliotrope.experiments.replays.drift import Drift, drift_rate
from heliotrope.experiments.replays.lessons import Lesson, Neighbours, Tuning, learn
from heliotrope.experiments.replays.outcome import Replay, ReplayRow, Score
from heliotrope.experiments.replays.players import POLICIES
from heliotrope.experiments.replays.replay import replay

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
