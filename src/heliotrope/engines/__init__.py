"""Engines: the posterior of the time-varying GP, kept up at every told value."""

from heliotrope.engines.bank import BankEngine, Learn
from heliotrope.engines.box import BoxEngine
from heliotrope.engines.dense import DenseEngine
from heliotrope.engines.finite import FiniteEngine
from heliotrope.engines.learned import Learned
from heliotrope.engines.options import (
    BoxOptions,
    DenseOptions,
    EngineOptions,
    FiniteOptions,
    ReferenceOptions,
    build,
    engine_options,
)
from heliotrope.engines.protocol import (
    Drawable,
    Engine,
    Mixed,
    Posterior,
    Surface,
    Surfaced,
    sample,
)
from heliotrope.engines.reference import ReferenceEngine

__all__ = [
    "BankEngine",
    "BoxEngine",
    "BoxOptions",
    "DenseEngine",
    "DenseOptions",
    "Drawable",
    "Engine",
    "EngineOptions",
    "FiniteEngine",
    "FiniteOptions",
    "Learn",
    "Learned",
    "Mixed",
    "Posterior",
    "ReferenceEngine",
    "ReferenceOptions",
    "Surface",
    "Surfaced",
    "build",
    "engine_options",
    "sample",
]
