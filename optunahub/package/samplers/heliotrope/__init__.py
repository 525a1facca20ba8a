"""The sampler of Heliotrope, in the form of OptunaHub."""

from heliotrope.integrations.optuna import HeliotropeSampler

__all__ = ["HeliotropeSampler"]
