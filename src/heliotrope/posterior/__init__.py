"""Engines: the posterior of the time-varying GP, updated with every observation."""

from heliotrope.posterior.bank import BankEngine, Learn, Learned
from heliotrope.posterior.box import BoxEngine
from heliotrope.posterior.dense import DenseEngine
from heliotrope.posterior.finite import FiniteEngine
from heliotrope.posterior.options import (
    BoxOptions,
    DenseOptions,
    EngineOptions,
    FiniteOptions,
    ReferenceOptions,
    build,
    engine_options,
)
from heliotrope.posterior.protocol import (
    Engine,
    HasSurface,
    Posterior,
    Sampleable,
    Surface,
    sample,
)
from heliotrope.posterior.reference import ReferenceEngine

__all__ = [
    "BankEngine",
    "BoxEngine",
    "BoxOptions",
    "DenseEngine",
    "DenseOptions",
    "Engine",
    "EngineOptions",
    "FiniteEngine",
    "FiniteOptions",
    "HasSurface",
    "Learn",
    "Learned",
    "Posterior",
    "ReferenceEngine",
    "ReferenceOptions",
    "Sampleable",
    "Surface",
    "build",
    "engine_options",
    "sample",
]
