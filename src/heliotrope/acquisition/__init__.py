"""Acquisitions choose the next point: upper confidence bounds, Thompson sampling, schedules."""

from heliotrope.acquisition.safe_opt import SafeOpt as SafeOpt
from heliotrope.acquisition.scored import (
    UCB as UCB,
    Acquisition as Acquisition,
    Beta as Beta,
    ConstantBeta as ConstantBeta,
    FiniteBeta as FiniteBeta,
    LogBeta as LogBeta,
    MeasurementUCB as MeasurementUCB,
    RBeta as RBeta,
    Scored as Scored,
    Scoring as Scoring,
    TVBeta as TVBeta,
    argmax as argmax,
    as_beta as as_beta,
    maximize as maximize,
)
from heliotrope.acquisition.thompson import Thompson as Thompson
