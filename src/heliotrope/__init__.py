"""Heliotrope: track the best point of a noisy function that keeps changing.

Names and submodules load on first use, so ``import heliotrope`` costs almost nothing.
"""

from typing import TYPE_CHECKING

from heliotrope.lazy import lazy_names

if TYPE_CHECKING:
    from heliotrope import (
        acquisition as acquisition,
        client as client,
        domains as domains,
        errors as errors,
        estimation as estimation,
        kernels as kernels,
        lab as lab,
        live as live,
        memory as memory,
        plot as plot,
        policies as policies,
        posterior as posterior,
        priors as priors,
        terms as terms,
        testing as testing,
    )
    from heliotrope.acquisition import UCB as UCB, LogBeta as LogBeta
    from heliotrope.client import connect as connect
    from heliotrope.domains import (
        Box as Box,
        Contextual as Contextual,
        Finite as Finite,
        grid as grid,
    )
    from heliotrope.errors import HeliotropeError as HeliotropeError
    from heliotrope.kernels import Tabulated as Tabulated
    from heliotrope.ledger import Suggestion as Suggestion
    from heliotrope.optimizer import Optimizer as Optimizer
    from heliotrope.policies import (
        Belief as Belief,
        auto as auto,
        gp_ucb as gp_ucb,
        r_gp_ucb as r_gp_ucb,
        tv_gp_ucb as tv_gp_ucb,
        uniform as uniform,
    )
    from heliotrope.posterior import Learn as Learn
    from heliotrope.priors import Forgetting as Forgetting, Prior as Prior, Static as Static
    from heliotrope.spaces import (
        Boolean as Boolean,
        Categorical as Categorical,
        Integer as Integer,
        Options as Options,
        Real as Real,
        SearchSpace as SearchSpace,
    )
    from heliotrope.study import Study as Study

__version__ = "0.1.0"

_NAMES = {  # by the submodule that they are loaded from
    "acquisition": ("LogBeta", "UCB"),
    "client": ("connect",),
    "domains": ("Box", "Contextual", "Finite", "grid"),
    "errors": ("HeliotropeError",),
    "ledger": ("Suggestion",),
    "kernels": ("Tabulated",),
    "optimizer": ("Optimizer",),
    "policies": ("Belief", "auto", "gp_ucb", "r_gp_ucb", "tv_gp_ucb", "uniform"),
    "posterior": ("Learn",),
    "priors": ("Forgetting", "Prior", "Static"),
    "spaces": ("Boolean", "Categorical", "Integer", "Options", "Real", "SearchSpace"),
    "study": ("Study",),
}
_SUBMODULES = {"acquisition", "client", "domains", "errors", "estimation", "lab", "memory", "plot"}
_SUBMODULES |= {"kernels", "live", "policies", "posterior", "priors", "terms", "testing"}

__all__ = [*(name for names in _NAMES.values() for name in names), "__version__"]


if not TYPE_CHECKING:  # otherwise a misspelled name would pass a type check
    __getattr__ = lazy_names(__name__, _NAMES, _SUBMODULES)


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
