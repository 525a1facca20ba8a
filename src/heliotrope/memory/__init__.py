"""Memories: which past observations count at time t, each with the engine that applies it."""

from heliotrope.memory.change_points import ChangePoints
from heliotrope.memory.detectors import EventTrigger, River
from heliotrope.memory.protocol import Memory
from heliotrope.memory.resets import ResetOnChange
from heliotrope.memory.restarts import KeepAll, Restart
from heliotrope.memory.wasserstein import Wasserstein
from heliotrope.memory.weights import Weights
from heliotrope.memory.window import Window

__all__ = [
    "ChangePoints",
    "EventTrigger",
    "KeepAll",
    "Memory",
    "ResetOnChange",
    "Restart",
    "River",
    "Wasserstein",
    "Weights",
    "Window",
]
