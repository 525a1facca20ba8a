"""Memories: which past observations count at time t, each with the engine that applies it."""

from heliotrope.memory.change_points import ChangePoints as ChangePoints
from heliotrope.memory.regression import Weights as Weights, Window as Window
from heliotrope.memory.resets import (
    EventTrigger as EventTrigger,
    ResetOnChange as ResetOnChange,
    River as River,
)
from heliotrope.memory.restarts import KeepAll as KeepAll, Memory as Memory, Restart as Restart
from heliotrope.memory.wasserstein import Wasserstein as Wasserstein
