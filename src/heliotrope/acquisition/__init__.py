"""How to choose the next point: schedules of beta, acquisitions, and their maximization."""

from heliotrope.acquisition.maximize import argmax, climb
from heliotrope.acquisition.measurement import MeasuredUCB
from heliotrope.acquisition.schedules import Beta, ConstantBeta, LogBeta, RBeta, TVBeta, as_beta
from heliotrope.acquisition.thompson import Thompson
from heliotrope.acquisition.ucb import UCB, Acquisition, Scored

__all__ = [
    "UCB",
    "Acquisition",
    "Beta",
    "ConstantBeta",
    "LogBeta",
    "MeasuredUCB",
    "RBeta",
    "Scored",
    "TVBeta",
    "Thompson",
    "argmax",
    "as_beta",
    "climb",
]
