"""Estimation of priors and models: from logged data, or from results while tracking.

Logged data give a prior by maximum likelihood (:func:`fit`, :func:`empirical_prior`). While
tracking, ``auto`` and studies estimate a :class:`Model` from their results again and again
(:func:`estimate_robustly`).
"""

from heliotrope.estimation.data import Data, Observations, Panel
from heliotrope.estimation.empirical import Empirical, empirical_prior
from heliotrope.estimation.fit import Fit, fit
from heliotrope.estimation.level_shift import SHORTEST_LEVEL_SHIFT, level_shift_length
from heliotrope.estimation.likelihood import gradient, log_likelihood
from heliotrope.estimation.model import Given, KernelName, Model, is_estimate_due
from heliotrope.estimation.online import RATES, estimate_model, estimate_robustly
from heliotrope.estimation.outliers import OutlierBounds, outlier_bounds
from heliotrope.estimation.parameters import Gradient
from heliotrope.estimation.results import Results

__all__ = [
    "RATES",
    "SHORTEST_LEVEL_SHIFT",
    "Data",
    "Empirical",
    "Fit",
    "Given",
    "Gradient",
    "KernelName",
    "Model",
    "Observations",
    "OutlierBounds",
    "Panel",
    "Results",
    "empirical_prior",
    "estimate_model",
    "estimate_robustly",
    "fit",
    "gradient",
    "is_estimate_due",
    "level_shift_length",
    "log_likelihood",
    "outlier_bounds",
]
