"""SafeOpt's choice: learn most where it is safe and either may be best or may widen what is safe.

With a time-varying prior this is TVSafeOpt (Li et al. 2024): the bounds are those of today, so what
was safe long ago is not safe now. Expanders are found as in the code of SafeOpt's authors, without
a Lipschitz constant: suppose that a place had its upper bound, and look what would become safe.

Symbols
-------
q  places      m, v (q,)  posterior mean and variance      C (q, q)  covariance
b  sqrt(beta)  l, u = m -+ b sqrt(v)                        h  the threshold that f must keep
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from heliotrope.acquisition.scored import Beta, argmax, as_beta
from heliotrope.domains import Box, Choices, Places
from heliotrope.errors import InputError
from heliotrope.posterior import Engine
from heliotrope.serialization.codec import register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, as_number

_TINY = 1e-300


@register
@dataclass(frozen=True)
class SafeOpt:
    """Choose the most uncertain place that is safe and is a maximizer or an expander.

    A place is safe if its lower bound is at least the ``threshold``, a maximizer if its upper bound
    is at least the best lower bound of a safe place, and an expander if its upper bound, measured,
    would make another place safe. Without a safe place, the highest lower bound is chosen.
    """

    threshold: float
    beta: Beta

    def __init__(self, threshold: float, beta: Beta | float = 4.0) -> None:
        object.__setattr__(self, "threshold", as_number(threshold, "threshold"))
        object.__setattr__(self, "beta", as_beta(beta))

    def choose(self, posterior: Engine, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return one place among the choices, which must be finitely many."""
        if isinstance(choices, Box):
            raise InputError("a Finite domain", "a Box", "SafeOpt compares all points.")
        mean, variance = posterior.predict(t, choices)
        width = sqrt(max(self.beta(t), 0.0)) * np.sqrt(variance)
        safe = mean - width >= self.threshold
        if not safe.any():
            return choices[[argmax(mean - width, make_rng)]]
        covariance = posterior.covariance(t, choices)
        wanted = maximizers(mean, width, safe)
        wanted |= expanders(mean - self.threshold, width, covariance, safe)
        return choices[wanted][[argmax(width[wanted], make_rng)]]


def maximizers(mean: Array, width: Array, safe: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which safe places may be the best safe one, (q,)."""
    return np.asarray(safe & (mean + width >= (mean - width)[safe].max()))


def expanders(
    margin: Array, width: Array, covariance: Array, safe: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which safe places would make another one safe if they had their upper bound, (q,).

    ``margin`` is the mean above the threshold. Knowing f(x) = u(x) changes the mean at x' by
    C(x', x) / v(x) b sqrt(v(x)), and leaves the variance v(x') - C(x', x)^2 / v(x).
    """
    expands = np.zeros(len(margin), dtype=bool)
    if safe.all() or not safe.any():
        return expands
    v = np.maximum(covariance.diagonal(), _TINY)
    C = covariance[np.ix_(~safe, safe)]
    b = np.divide(width, np.sqrt(v))
    raised = margin[~safe, None] + C * (width[safe] / v[safe])
    left = np.sqrt(np.maximum(v[~safe, None] - np.square(C) / v[safe], 0.0))
    expands[safe] = np.any(raised - b[~safe, None] * left >= 0.0, axis=0)
    return expands
