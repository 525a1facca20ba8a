"""Everything that a user would have to guess, learned from results: one model, re-estimated."""

from heliotrope.estimation.levels import LEAST_OF_A_LEVEL, of_new_level
from heliotrope.estimation.models import INDEPENDENT, Given, KernelName, Model, is_time_to_learn
from heliotrope.estimation.outliers import Fences, fences
from heliotrope.estimation.results import Results, spread_out, telling
from heliotrope.estimation.search import RATES, believing, estimate

__all__ = [
    "INDEPENDENT",
    "LEAST_OF_A_LEVEL",
    "RATES",
    "Fences",
    "Given",
    "KernelName",
    "Model",
    "Results",
    "believing",
    "estimate",
    "fences",
    "is_time_to_learn",
    "of_new_level",
    "spread_out",
    "telling",
]
