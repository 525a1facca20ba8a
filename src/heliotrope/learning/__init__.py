"""Learning the prior from data: likelihoods, fits, the paper's recipe, R-GP-UCB's block length."""

from heliotrope.learning.data import Data, Observations, Panel
from heliotrope.learning.empirical import Empirical, empirical_prior
from heliotrope.learning.fitting import Fit, fit
from heliotrope.learning.likelihood import Gradient, gradient, log_likelihood
from heliotrope.learning.validation import (
    BlockLength,
    Validation,
    choose_block_length,
    cross_validate,
)
from heliotrope.theory.rates import block_length

__all__ = [
    "BlockLength",
    "Data",
    "Empirical",
    "Fit",
    "Gradient",
    "Observations",
    "Panel",
    "Validation",
    "block_length",
    "choose_block_length",
    "cross_validate",
    "empirical_prior",
    "fit",
    "gradient",
    "log_likelihood",
]
