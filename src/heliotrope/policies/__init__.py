"""Policies: each composes a prior, a memory and an acquisition, or needs no GP.

The registry describes them all. Every module lists its factories in ``__all__``.
"""

# ruff: noqa: F403  the factories are listed by their modules
from heliotrope.policies.adaptive import Adaptive as Adaptive
from heliotrope.policies.auto import *
from heliotrope.policies.bandits import *
from heliotrope.policies.certificate import Certificate as Certificate
from heliotrope.policies.elimination import *
from heliotrope.policies.exponential_weights import *
from heliotrope.policies.gp import GPPolicy as GPPolicy
from heliotrope.policies.model_free import *
from heliotrope.policies.named import *
from heliotrope.policies.phased_elimination import *
from heliotrope.policies.protocol import (
    Agent as Agent,
    Belief as Belief,
    Best as Best,
    Policy as Policy,
    Recipe as Recipe,
    Selective as Selective,
)
from heliotrope.policies.registry import Named as Named
