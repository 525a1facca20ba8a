"""Memories: which past observations count at time t, each with the engine that applies it."""

from heliotrope.memory.change_points import ChangePoints as ChangePoints
from heliotrope.memory.regression import Weights as Weights, Window as Window
from heliotrope.memory.resets import (
    EventTrigger as EventTrigger,
    KeepAll as KeepAll,
    Memory as Memory,
    ResetOnChange as ResetOnChange,
    Restart as Restart,
    River as River,
)
from heliotrope.memory.wasserstein import Wasserstein as Wasserstein
