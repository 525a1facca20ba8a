"""How to choose the next point: schedules of beta, acquisitions, and their maximization."""

from heliotrope.choosing.acquisitions import UCB, Acquisition, Scored
from heliotrope.choosing.measured import MeasuredUCB
from heliotrope.choosing.schedules import Beta, ConstantBeta, LogBeta, RBeta, TVBeta, as_beta
from heliotrope.choosing.search import argmax, climb
from heliotrope.choosing.thompson import Thompson

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
