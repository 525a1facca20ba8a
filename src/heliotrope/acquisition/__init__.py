"""Acquisitions choose the next point: upper confidence bounds, Thompson sampling, schedules."""

from heliotrope.acquisition.maximize import argmax, maximize
from heliotrope.acquisition.schedules import Beta, ConstantBeta, LogBeta, RBeta, TVBeta, as_beta
from heliotrope.acquisition.thompson import Thompson
from heliotrope.acquisition.ucb import UCB, Acquisition, MeasurementUCB, Scored

__all__ = [
    "UCB",
    "Acquisition",
    "Beta",
    "ConstantBeta",
    "LogBeta",
    "MeasurementUCB",
    "RBeta",
    "Scored",
    "TVBeta",
    "Thompson",
    "argmax",
    "as_beta",
    "maximize",
]
