"""Policies: each a composition of prior, memory and acquisition, or one without a GP."""

from heliotrope.policies.adaptive import Adaptive, auto
from heliotrope.policies.bandits import (
    DiscountedUCB,
    WindowUCB,
    d_ucb,
    d_ucb_discount,
    sw_ucb,
    sw_ucb_window,
)
from heliotrope.policies.beliefless import Beliefless
from heliotrope.policies.elimination import PriorElimination, pe_gp_ucb
from heliotrope.policies.gp import GPPolicy
from heliotrope.policies.named import (
    cp_gp_ucb,
    et_gp_ucb,
    gp_ucb,
    r_gp_ucb,
    sw_gp_ucb,
    tv_gp_ucb,
    tv_ts,
    ui_gp_ucb,
    wdbo,
    wgp_ucb,
)
from heliotrope.policies.protocol import Agent, Belief, Best, Policy, Selective
from heliotrope.policies.random import Uniform, uniform
from heliotrope.policies.rexp3 import Exp3, RExp3, exp3, rexp3, rexp3_batch

__all__ = [
    "Adaptive",
    "Agent",
    "Belief",
    "Beliefless",
    "Best",
    "DiscountedUCB",
    "Exp3",
    "GPPolicy",
    "Policy",
    "PriorElimination",
    "RExp3",
    "Selective",
    "Uniform",
    "WindowUCB",
    "auto",
    "cp_gp_ucb",
    "d_ucb",
    "d_ucb_discount",
    "et_gp_ucb",
    "exp3",
    "gp_ucb",
    "pe_gp_ucb",
    "r_gp_ucb",
    "rexp3",
    "rexp3_batch",
    "sw_gp_ucb",
    "sw_ucb",
    "sw_ucb_window",
    "tv_gp_ucb",
    "tv_ts",
    "ui_gp_ucb",
    "uniform",
    "wdbo",
    "wgp_ucb",
]
