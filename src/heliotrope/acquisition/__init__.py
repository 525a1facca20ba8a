"""Acquisitions choose the next point: upper confidence bounds, Thompson sampling, schedules."""

from heliotrope.acquisition.maximize import argmax as argmax, maximize as maximize
from heliotrope.acquisition.safe_opt import SafeOpt as SafeOpt
from heliotrope.acquisition.schedules import (
    Beta as Beta,
    ConstantBeta as ConstantBeta,
    FiniteBeta as FiniteBeta,
    LogBeta as LogBeta,
    RBeta as RBeta,
    TVBeta as TVBeta,
    as_beta as as_beta,
)
from heliotrope.acquisition.thompson import Thompson as Thompson
from heliotrope.acquisition.ucb import (
    UCB as UCB,
    Acquisition as Acquisition,
    MeasurementUCB as MeasurementUCB,
    Scored as Scored,
    Scoring as Scoring,
)
