"""Everything that a user would have to guess, learned from results: one model, re-estimated."""

from heliotrope.estimation.models import INDEPENDENT, Given, KernelName, Model, is_time_to_learn
from heliotrope.estimation.search import RATES, Results, estimate, telling

__all__ = [
    "INDEPENDENT",
    "RATES",
    "Given",
    "KernelName",
    "Model",
    "Results",
    "estimate",
    "is_time_to_learn",
    "telling",
]
