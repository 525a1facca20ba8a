"""Everything a user would otherwise have to guess, learned from results or from logged data."""

from heliotrope.estimation.data import Data, Observations, Panel
from heliotrope.estimation.empirical import Empirical, empirical_prior
from heliotrope.estimation.fit import Fit, fit
from heliotrope.estimation.levels import LEAST_OF_A_LEVEL, of_new_level
from heliotrope.estimation.likelihood import Gradient, gradient, log_likelihood
from heliotrope.estimation.models import INDEPENDENT, Given, KernelName, Model, is_time_to_learn
from heliotrope.estimation.online import RATES, believing, estimate
from heliotrope.estimation.outliers import Fences, fences
from heliotrope.estimation.results import Results, spread_out, telling

__all__ = [
    "INDEPENDENT",
    "LEAST_OF_A_LEVEL",
    "RATES",
    "Data",
    "Empirical",
    "Fences",
    "Fit",
    "Given",
    "Gradient",
    "KernelName",
    "Model",
    "Observations",
    "Panel",
    "Results",
    "believing",
    "empirical_prior",
    "estimate",
    "fences",
    "fit",
    "gradient",
    "is_time_to_learn",
    "log_likelihood",
    "of_new_level",
    "spread_out",
    "telling",
]
