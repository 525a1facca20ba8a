"""Heliotrope: find what is best now, of a noisy function that keeps changing.

Names are loaded when they are first used, so that ``import heliotrope`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heliotrope.acquisition import UCB as UCB
    from heliotrope.acquisition import ConstantBeta as ConstantBeta
    from heliotrope.acquisition import LogBeta as LogBeta
    from heliotrope.acquisition import RBeta as RBeta
    from heliotrope.acquisition import Thompson as Thompson
    from heliotrope.acquisition import TVBeta as TVBeta
    from heliotrope.client import connect as connect
    from heliotrope.domains import Box as Box
    from heliotrope.domains import Finite as Finite
    from heliotrope.domains import grid as grid
    from heliotrope.domains.contextual import Contextual as Contextual
    from heliotrope.errors import HeliotropeError as HeliotropeError
    from heliotrope.history import Suggestion as Suggestion
    from heliotrope.kernels import Tabulated as Tabulated
    from heliotrope.optimizer import Optimizer as Optimizer
    from heliotrope.policies import Belief as Belief
    from heliotrope.policies import auto as auto
    from heliotrope.policies import cp_gp_ucb as cp_gp_ucb
    from heliotrope.policies import d_ucb as d_ucb
    from heliotrope.policies import et_gp_ucb as et_gp_ucb
    from heliotrope.policies import exp3 as exp3
    from heliotrope.policies import gp_ucb as gp_ucb
    from heliotrope.policies import pe_gp_ucb as pe_gp_ucb
    from heliotrope.policies import r_gp_ucb as r_gp_ucb
    from heliotrope.policies import rexp3 as rexp3
    from heliotrope.policies import sw_gp_ucb as sw_gp_ucb
    from heliotrope.policies import sw_ucb as sw_ucb
    from heliotrope.policies import tv_gp_ucb as tv_gp_ucb
    from heliotrope.policies import tv_ts as tv_ts
    from heliotrope.policies import ui_gp_ucb as ui_gp_ucb
    from heliotrope.policies import uniform as uniform
    from heliotrope.policies import wdbo as wdbo
    from heliotrope.policies import wgp_ucb as wgp_ucb
    from heliotrope.posterior import Learn as Learn
    from heliotrope.priors import Forgetting as Forgetting
    from heliotrope.priors import Prior as Prior
    from heliotrope.priors import Static as Static
    from heliotrope.priors import Wiener as Wiener
    from heliotrope.spaces import Boolean as Boolean
    from heliotrope.spaces import Categorical as Categorical
    from heliotrope.spaces import Integer as Integer
    from heliotrope.spaces import Options as Options
    from heliotrope.spaces import Real as Real
    from heliotrope.spaces import SearchSpace as SearchSpace
    from heliotrope.study import Study as Study

__version__ = "0.1.0"

_HOME = {
    "Belief": "policies",
    "Boolean": "spaces",
    "Box": "domains",
    "Categorical": "spaces",
    "ConstantBeta": "acquisition",
    "Contextual": "domains.contextual",
    "Finite": "domains",
    "Forgetting": "priors",
    "HeliotropeError": "errors",
    "Integer": "spaces",
    "Learn": "posterior",
    "LogBeta": "acquisition",
    "Optimizer": "optimizer",
    "Options": "spaces",
    "Prior": "priors",
    "RBeta": "acquisition",
    "Real": "spaces",
    "SearchSpace": "spaces",
    "Static": "priors",
    "Study": "study",
    "Suggestion": "history",
    "TVBeta": "acquisition",
    "Tabulated": "kernels",
    "Thompson": "acquisition",
    "UCB": "acquisition",
    "Wiener": "priors",
    "auto": "policies",
    "connect": "client",
    "cp_gp_ucb": "policies",
    "d_ucb": "policies",
    "et_gp_ucb": "policies",
    "exp3": "policies",
    "gp_ucb": "policies",
    "grid": "domains",
    "pe_gp_ucb": "policies",
    "r_gp_ucb": "policies",
    "rexp3": "policies",
    "sw_gp_ucb": "policies",
    "sw_ucb": "policies",
    "tv_gp_ucb": "policies",
    "tv_ts": "policies",
    "ui_gp_ucb": "policies",
    "uniform": "policies",
    "wdbo": "policies",
    "wgp_ucb": "policies",
}
_SUBMODULES = {
    "acquisition",
    "domains",
    "errors",
    "estimation",
    "lab",
    "memory",
    "policies",
    "posterior",
    "priors",
    "testing",
}

__all__ = [*_HOME, "__version__"]


if not TYPE_CHECKING:  # or a misspelled name would pass a type check

    def __getattr__(name: str) -> object:
        if name in _SUBMODULES:
            return import_module(f"heliotrope.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'heliotrope' has no attribute {name!r}")
        value = getattr(import_module(f"heliotrope.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
