"""Policies: each a composition of prior, memory and acquisition, or one without a GP."""

from heliotrope.policies.gp import GPPolicy, gp_ucb, r_gp_ucb, tv_gp_ucb
from heliotrope.policies.memories import KeepAll, Memory, Restart
from heliotrope.policies.protocol import Agent, Belief, Best, Policy
from heliotrope.policies.random import Uniform, uniform
from heliotrope.policies.rexp3 import RExp3, rexp3, rexp3_batch

__all__ = [
    "Agent",
    "Belief",
    "Best",
    "GPPolicy",
    "KeepAll",
    "Memory",
    "Policy",
    "RExp3",
    "Restart",
    "Uniform",
    "gp_ucb",
    "r_gp_ucb",
    "rexp3",
    "rexp3_batch",
    "tv_gp_ucb",
    "uniform",
]
