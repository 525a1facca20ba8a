"""Fitting a prior by maximum marginal likelihood, with an interval that says how sure it is.

Parameters are moved on scales without ends: the logit of what is new after one step of the data
(so that the unit of time does not matter), the logarithm of the noise, and the space kernel's
theta, which is logarithmic already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from heliotrope.arrays import Array
from heliotrope.errors import InputError
from heliotrope.learning.data import Data, spacing
from heliotrope.learning.likelihood import (
    epsilon,
    log_likelihood,
    space_bounds,
    theta,
    value_and_gradient,
    with_theta,
)
from heliotrope.priors import Forgetting, Prior

LEARNABLE = ("epsilon", "noise", "space")
_EPSILON_BOUNDS = (1e-7, 1.0 - 1e-4)
_NOISE_SPAN = 1e6  # the noise is sought within this factor of the prior's, either way
_STARTS = (0.001, 0.02, 0.3)  # further epsilons to start from
_LEAST_SPACING = 0.05  # below it any drift makes 1 - epsilon vanish over a whole unit
_CLIMBS = 3  # starts of the highest likelihood that are climbed from
_DROP = 0.5 * float(chi2.ppf(0.95, df=1))  # of the log likelihood, at the ends of the interval


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted prior, its log likelihood, and how sure epsilon is.

    ``interval`` is the 95 % profile-likelihood interval of epsilon, None if it was not learned.
    """

    prior: Prior
    value: float
    converged: bool
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        sure = "" if self.interval is None else " (95 %: {:.3g} to {:.3g})".format(*self.interval)
        drift = f"epsilon {epsilon(self.prior):.3g}{sure}"
        return f"{drift}, noise {self.prior.noise:.3g}, {self.prior.space}"


def fit(prior: Prior, data: Data, learn: Iterable[str] = LEARNABLE, restarts: int = 2) -> Fit:
    """Maximize the likelihood over some of epsilon, noise and the space kernel's parameters.

    What is not in ``learn`` stays as the prior has it; so do parameters that the scikit-learn
    kernel itself holds fixed, and its bounds are respected. The search starts from the prior,
    from other drift rates, and from ``restarts`` random kernels within their bounds.
    """
    names = tuple(learn)
    unknown = [name for name in names if name not in LEARNABLE]
    if unknown or not names:
        raise InputError(f"learn to be some of {LEARNABLE}", repr(names))
    problem = _Problem(prior, data, names)
    if not problem.size:
        raise InputError("parameters to learn", f"none: {prior.space} has no free ones")
    found = max((problem.climb(start) for start in problem.starts(restarts)), key=lambda x: x[1])
    best, value, converged = found
    interval = problem.interval(best, value) if "epsilon" in names else None
    return Fit(problem.prior(best), value, converged, interval)


class _Problem:
    """The free parameters u as one vector: logit epsilon, log noise, theta (those learned)."""

    def __init__(self, prior: Prior, data: Data, learn: tuple[str, ...]) -> None:
        self._prior, self._data, self._learn = prior, data, learn
        self._spacing = spacing(data)
        if "epsilon" in learn and self._spacing < _LEAST_SPACING:
            raise InputError(
                f"times at least {_LEAST_SPACING} apart, since epsilon is per unit of time",
                f"a step of {self._spacing:g}",
                "Divide the times by their step.",
            )
        self._rate = min(max(float(self._a_step(epsilon(prior))), 1e-5), 0.999)
        bounds = {
            "epsilon": [tuple(logit(_EPSILON_BOUNDS))],
            "noise": [tuple(np.log(prior.noise) + np.log(_NOISE_SPAN) * np.array([-1.0, 1.0]))],
            "space": [tuple(pair) for pair in space_bounds(prior)],
        }
        self._bounds = [pair for name in LEARNABLE if name in learn for pair in bounds[name]]

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return len(self._bounds)

    def prior(self, u: Array) -> Prior:
        """The prior of a vector of free parameters."""
        prior, rest = self._prior, u.tolist()
        if "epsilon" in self._learn:
            prior = replace(prior, time=Forgetting(self.rate(rest.pop(0))))
        if "noise" in self._learn:
            prior = replace(prior, noise=float(np.exp(rest.pop(0))))
        if rest:
            prior = replace(prior, space=with_theta(prior, np.array(rest)))
        return prior

    def value(self, u: Array) -> float:
        """Log likelihood."""
        return log_likelihood(self.prior(u), self._data)

    def descent(self, u: Array) -> tuple[float, Array]:
        """Minus the log likelihood, and its gradient by the free parameters."""
        prior = self.prior(u)
        value, found = value_and_gradient(prior, self._data)
        rate = epsilon(prior)
        by_logit = self._a_step(rate) * (1.0 - rate) / self._spacing
        return -value, -self._chosen(
            found.epsilon * by_logit, found.noise * prior.noise, found.space
        )

    def rate(self, logit_a_step: float) -> float:
        """Epsilon, a unit of time, of the logit of what is new after one step of the data."""
        a_unit = float(-np.expm1(np.log1p(-expit(logit_a_step)) / self._spacing))
        return min(a_unit, 1.0 - 1e-9)  # short of where its slope is infinite

    def _a_step(self, rate: float) -> float:
        """What is new after one step of the data: 1 - (1 - epsilon)^spacing."""
        return float(-np.expm1(self._spacing * np.log1p(-min(rate, 1.0 - 1e-12))))

    def starts(self, restarts: int) -> list[Array]:
        """The prior's own parameters, other drift rates, and random kernels."""
        first = self._vector(self._rate, theta(self._prior))
        starts = [first]
        if "epsilon" in self._learn:
            starts += [self._vector(rate, theta(self._prior)) for rate in _STARTS]
        if "space" in self._learn and len(theta(self._prior)):
            rng, here = np.random.default_rng(0), theta(self._prior)
            low, high = np.clip([here - 3.0, here + 3.0], *space_bounds(self._prior).T)
            starts += [self._vector(self._rate, rng.uniform(low, high)) for _ in range(restarts)]
        return sorted(starts, key=self.value, reverse=True)[:_CLIMBS]

    def climb(self, start: Array, fixed: int | None = None) -> tuple[Array, float, bool]:
        """Maximize from a start; parameter ``fixed`` is held where it is."""
        bounds = list(self._bounds)
        if fixed is not None:
            bounds[fixed] = (start[fixed], start[fixed])
        found = minimize(self.descent, start, jac=True, bounds=bounds, method="L-BFGS-B")
        return np.asarray(found.x), -float(found.fun), bool(found.success)

    def interval(self, best: Array, value: float) -> tuple[float, float]:
        """Where the profile of epsilon, the others at their best, falls by 1.92."""
        others = len(best) > 1

        def height(rate: float) -> float:
            u = best.copy()
            u[0] = rate
            top = self.climb(u, fixed=0)[1] if others else self.value(u)
            return top - value + _DROP

        low, high = (_crossing(height, float(best[0]), end) for end in self._bounds[0])
        return self.rate(low), self.rate(high)

    def _vector(self, rate: float, kernel: Array) -> Array:
        return self._chosen(float(logit(rate)), float(np.log(self._prior.noise)), kernel)

    def _chosen(self, of_epsilon: float, of_noise: float, of_space: Array) -> Array:
        """Put together what belongs to the parameters that are learned."""
        parts = zip(LEARNABLE, ([of_epsilon], [of_noise], of_space), strict=True)
        return np.concatenate([part for name, part in parts if name in self._learn])


def _crossing(height: Callable[[float], float], start: float, end: float) -> float:
    """Where a falling height passes zero on the way from start to end; the end if it does not."""
    step = 0.25 if end > start else -0.25
    inside = outside = start
    while height(outside) > 0.0:
        if outside == end:
            return end
        inside, outside = outside, float(np.clip(outside + step, min(start, end), max(start, end)))
        step *= 2.0
    if inside == outside:
        return start
    return float(brentq(height, inside, outside, xtol=1e-3))
