"""Memories: which past observations count at time t, each with the engine that applies it."""

from heliotrope.memory.change_points import ChangePoints as ChangePoints
from heliotrope.memory.detectors import EventTrigger as EventTrigger, River as River
from heliotrope.memory.resets import ResetOnChange as ResetOnChange
from heliotrope.memory.restarts import KeepAll as KeepAll, Memory as Memory, Restart as Restart
from heliotrope.memory.wasserstein import Wasserstein as Wasserstein
from heliotrope.memory.weights import Weights as Weights
from heliotrope.memory.window import Window as Window
