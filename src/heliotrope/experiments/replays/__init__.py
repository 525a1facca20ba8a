"""Replaying logged data: which policy would have tracked it best."""

from heliotrope.experiments.replays.lessons import Lesson, learn
from heliotrope.experiments.replays.players import POLICIES
from heliotrope.experiments.replays.replay import Replay, ReplayRow, Score, replay

__all__ = ["POLICIES", "Lesson", "Replay", "ReplayRow", "Score", "learn", "replay"]
