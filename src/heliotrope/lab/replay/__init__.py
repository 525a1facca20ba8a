"""Replay logged data to find the policy that would have tracked it best."""

from heliotrope.lab.replay.candidates import CANDIDATES
from heliotrope.lab.replay.drift import Drift, drift_rate
from heliotrope.lab.replay.result import ReplayResult, ReplayRow, ReplayScore
from heliotrope.lab.replay.run import replay_log
from heliotrope.lab.replay.training import Neighbours, TrainedSetup, Tuning, trained_setup

__all__ = [
    "CANDIDATES",
    "Drift",
    "Neighbours",
    "ReplayResult",
    "ReplayRow",
    "ReplayScore",
    "TrainedSetup",
    "Tuning",
    "drift_rate",
    "replay_log",
    "trained_setup",
]
