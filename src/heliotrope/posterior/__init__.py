"""Engines: the posterior of the time-varying GP, updated with every observation."""

from heliotrope.posterior.bank import BankEngine as BankEngine, Learn as Learn, Learned as Learned
from heliotrope.posterior.box import BoxEngine as BoxEngine
from heliotrope.posterior.dense import DenseEngine as DenseEngine
from heliotrope.posterior.finite import FiniteEngine as FiniteEngine
from heliotrope.posterior.options import (
    BoxOptions as BoxOptions,
    DenseOptions as DenseOptions,
    EngineOptions as EngineOptions,
    FiniteOptions as FiniteOptions,
    ReferenceOptions as ReferenceOptions,
    build as build,
    engine_options as engine_options,
)
from heliotrope.posterior.protocol import (
    Accuracy as Accuracy,
    Engine as Engine,
    HasSurface as HasSurface,
    Posterior as Posterior,
    Sampleable as Sampleable,
    Surface as Surface,
    sample as sample,
)
from heliotrope.posterior.reference import ReferenceEngine as ReferenceEngine
