"""Replaying logged data: which policy would have tracked it best."""

from heliotrope.lab.replay.candidates import CANDIDATES
from heliotrope.lab.replay.drift import Drift, drift_rate
from heliotrope.lab.replay.result import Replay, ReplayRow, Score
from heliotrope.lab.replay.run import replay
from heliotrope.lab.replay.training import Neighbours, TrainedSetup, Tuning, trained_setup

__all__ = [
    "CANDIDATES",
    "Drift",
    "Neighbours",
    "Replay",
    "ReplayRow",
    "Score",
    "TrainedSetup",
    "Tuning",
    "drift_rate",
    "replay",
    "trained_setup",
]
