"""Fit of a prior by maximum marginal likelihood, with a confidence interval of epsilon.

The search runs over unbounded parameters: the logit of the share that is new after one step of the
data (so that the unit of time does not matter), the logarithm of the noise, and the space kernel's
theta, which is logarithmic already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.errors import InputError, KernelError
from heliotrope.estimation.data import Data, Observations, Panel, episodes, spacing, spread
from heliotrope.estimation.likelihood import log_likelihood, value_and_gradient
from heliotrope.estimation.parameters import (
    check_learnable,
    epsilon,
    theta,
    theta_bounds,
    theta_for_variance,
)
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array, as_whole

Episodes: TypeAlias = list[Observations | Panel]

LEARNABLE = ("epsilon", "noise", "space")
_EPSILON_BOUNDS = (1e-7, 1.0 - 1e-4)
_NOISE_BOUNDS = (1e-8, 10.0)  # shares of the data's variance; extended to include the prior's noise
_NOISE_START = 0.1  # also a share
_HOPELESS = 1e25  # minus the log likelihood where the kernel fails
_STARTS = (0.001, 0.02, 0.3)  # further epsilons to start from
_LEAST_SPACING = 0.05  # measurements closer in time are not a step apart
_FASTEST = 1.0 - 1e-9  # largest epsilon; beyond it 1 - epsilon is mostly rounding
_CLIMBS = 2  # number of best starts to search from, for each level of noise
_FALL = float(np.sqrt(chi2.ppf(0.95, df=1)))  # root of twice the fall at the interval's ends


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted prior, its log likelihood ``value``, and the interval of epsilon.

    ``interval`` is the 95 % profile-likelihood interval of epsilon; None if epsilon was not
    learned. ``at_bounds`` names the parameters that ended on a bound of the search: the data
    favour values beyond it.
    """

    prior: Prior
    value: float
    converged: bool
    interval: tuple[float, float] | None
    at_bounds: tuple[str, ...]

    def __str__(self) -> str:
        sure = "" if self.interval is None else " (95 %: {:.3g} to {:.3g})".format(*self.interval)
        bound = f"; on a bound: {', '.join(self.at_bounds)}" if self.at_bounds else ""
        drift = f"epsilon {epsilon(self.prior):.3g}{sure}"
        return f"{drift}, noise {self.prior.noise:.3g}, {self.prior.space}{bound}"


def fit(prior: Prior, data: Data, learn: Iterable[str] = LEARNABLE, restarts: int = 2) -> Fit:
    """Maximize the likelihood over some of epsilon, noise and the space kernel's parameters.

    Parameters outside ``learn``, and those that the scikit-learn kernel holds fixed, keep the
    prior's values. The kernel's bounds apply. Candidate starts are the prior, other drift rates, a
    noise and a variance of the size of the data, and ``restarts`` random kernels within their
    bounds; the search runs from the best few.
    """
    check_learnable(prior)
    names, restarts = _names(learn), as_whole(restarts, "restarts", least=0)
    problem = _Problem(prior, episodes(data), names)
    if not problem.size:
        raise InputError("parameters to learn", f"none: {prior.space} has no free ones")
    problem.check()
    found = max((problem.maximize(start) for start in problem.starts(restarts)), key=lambda x: x[1])
    best, value, converged = found
    problem.check_unit(best)
    interval = problem.interval(best, value) if "epsilon" in names else None
    return Fit(problem.prior(best), value, converged, interval, problem.at_bounds(best))


def _names(learn: Iterable[str]) -> tuple[str, ...]:
    names = (learn,) if isinstance(learn, str) else learn
    if not isinstance(names, Iterable):
        raise InputError(f"learn to be some of {LEARNABLE}", repr(learn))
    names = tuple(names)
    if not names or any(name not in LEARNABLE for name in names):
        raise InputError(f"learn to be some of {LEARNABLE}", repr(names))
    return names


class _Problem:
    """The learned parameters as one vector u: logit epsilon, log noise, theta."""

    def __init__(self, prior: Prior, data: Episodes, learn: tuple[str, ...]) -> None:
        self._prior, self._data, self._learn = prior, data, learn
        self._spacing = max(spacing(data), _LEAST_SPACING)
        self._rate = min(max(float(self._per_step(epsilon(prior))), 1e-5), 0.999)
        noises = np.append(spread(data) * np.array(_NOISE_BOUNDS), prior.noise)
        noises = np.log(noises[noises > 0.0])
        bounds = {
            "epsilon": [tuple(logit(_EPSILON_BOUNDS))],
            "noise": [(noises.min(), noises.max())],
            "space": [tuple(pair) for pair in theta_bounds(prior)],
        }
        self._names = [name for name in LEARNABLE if name in learn for _ in bounds[name]]
        self._bounds = [pair for name in LEARNABLE if name in learn for pair in bounds[name]]

    def check(self) -> None:
        """Raise the errors of the data and the kernel before the search."""
        log_likelihood(self._prior, self._data)

    def check_unit(self, best: Array) -> None:
        """Raise an error if everything changes within one unit of time."""
        if "epsilon" in self._learn and self.rate(float(best[0])) >= _FASTEST:
            raise InputError(
                "a unit of time within which not everything changes, since epsilon is per unit",
                f"a usual step of {self._spacing:g}",
                "Count time in shorter units, so that the numbers get larger.",
            )

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
            assert isinstance(prior.space, Kernel)
            prior = replace(prior, space=prior.space.clone_with_theta(np.array(rest)))
        return prior

    def value(self, u: Array) -> float:
        """Log likelihood."""
        try:
            return log_likelihood(self.prior(u), self._data)
        except KernelError:  # not positive definite this far from the start
            return -_HOPELESS

    def descent(self, u: Array) -> tuple[float, Array]:
        """Minus the log likelihood, and its gradient by the free parameters."""
        prior = self.prior(u)
        try:
            value, found = value_and_gradient(prior, self._data)
        except KernelError:
            return _HOPELESS, np.zeros(self.size)
        rate = epsilon(prior)
        by_logit = self._per_step(rate) * (1.0 - rate) / self._spacing
        return -value, -self._chosen(
            found.epsilon * by_logit, found.noise * prior.noise, found.space
        )

    def rate(self, logit_per_step: float) -> float:
        """Epsilon per unit of time, from the logit of the share that is new after one step."""
        per_unit = float(-np.expm1(np.log1p(-expit(logit_per_step)) / self._spacing))
        return min(per_unit, _FASTEST)

    def _per_step(self, rate: float) -> float:
        """The share that is new after one step of the data: 1 - (1 - epsilon)^spacing."""
        return float(-np.expm1(self._spacing * np.log1p(-min(rate, 1.0 - 1e-12))))

    def starts(self, restarts: int) -> list[Array]:
        """The best of the prior's parameters, other drift rates, noises and kernels."""
        rates = (self._rate, *_STARTS) if "epsilon" in self._learn else (self._rate,)
        chosen: list[Array] = []
        for noise in self._noises():
            starts = [
                self._vector(rate, noise, kernel)
                for kernel in self._kernels(restarts)
                for rate in rates
            ]
            chosen += sorted(starts, key=self.value, reverse=True)[:_CLIMBS]
        return chosen

    def _noises(self) -> list[float]:
        """The prior's noise, and one of the size of the data."""
        size = _NOISE_START * spread(self._data)
        learned = "noise" in self._learn and size > 0.0
        return [self._prior.noise, size] if learned else [self._prior.noise]

    def _kernels(self, restarts: int) -> list[Array]:
        """The prior's theta, one with the variance of the data, and random ones."""
        here, first, size = theta(self._prior), self._data[0], spread(self._data)
        if "space" not in self._learn or not len(here):
            return [here]
        points = first.points if isinstance(first, Panel) else first.x
        rng, bounds = np.random.default_rng(0), theta_bounds(self._prior).T
        kernels = [here]
        if points is not None and points.ndim == 2 and size > 0.0:
            kernels.append(theta_for_variance(self._prior, points, size))
        low, high = np.clip([kernels[-1] - 3.0, kernels[-1] + 3.0], *bounds)
        return kernels + [rng.uniform(low, high) for _ in range(restarts)]

    def maximize(self, start: Array, fixed: int | None = None) -> tuple[Array, float, bool]:
        """Maximize from a start, with the parameter ``fixed`` held."""
        bounds = list(self._bounds)
        if fixed is not None:
            bounds[fixed] = (start[fixed], start[fixed])
        found = minimize(self.descent, start, jac=True, bounds=bounds, method="L-BFGS-B")
        return np.asarray(found.x), -float(found.fun), bool(found.success)

    def interval(self, best: Array, value: float) -> tuple[float, float]:
        """The epsilons at which the profile likelihood has fallen by 1.96^2 / 2."""
        low, high = (
            _crossing(self._fall(best, value), float(best[0]), end) for end in self._bounds[0]
        )
        return self.rate(low), self.rate(high)

    def _fall(self, best: Array, value: float) -> Callable[[float], float]:
        """Root of twice the profile's fall from its top, about linear in logit epsilon.

        Each search starts where the last one ended.
        """
        u = best.copy()

        def fall(rate: float) -> float:
            u[0] = rate
            if self.size == 1:
                top = self.value(u)
            else:
                u[:], top, _ = self.maximize(u, fixed=0)
            return float(np.sqrt(2.0 * max(value - top, 0.0)))

        return fall

    def at_bounds(self, best: Array) -> tuple[str, ...]:
        """The names of the parameters that are on a bound."""
        low, high = np.array(self._bounds).T
        slack = 1e-6 * (high - low)
        on = (best <= low + slack) | (best >= high - slack)
        return tuple(dict.fromkeys(np.array(self._names)[on].tolist()))

    def _vector(self, rate: float, noise: float, kernel: Array) -> Array:
        return self._chosen(float(logit(rate)), float(np.log(noise)), kernel)

    def _chosen(self, of_epsilon: float, of_noise: float, of_space: Array) -> Array:
        """The parts that belong to learned parameters, as one vector."""
        parts = zip(LEARNABLE, ([of_epsilon], [of_noise], of_space), strict=True)
        return np.concatenate([part for name, part in parts if name in self._learn])


def _crossing(fall: Callable[[float], float], start: float, end: float) -> float:
    """The rate between start and end at which the fall reaches 1.96; the end if it never does.

    The fall is zero at the start. Its values are cached, since a repeated search may end slightly
    higher or lower.
    """
    depths = {start: 0.0}

    def beyond(rate: float) -> float:
        if rate not in depths:
            depths[rate] = fall(rate)
        return depths[rate] - _FALL

    inside, outside = start, start
    step = 0.1 if end > start else -0.1
    while beyond(outside) < 0.0:
        if outside == end:
            return end
        inside = outside
        outside = float(np.clip(start + step, min(start, end), max(start, end)))
        step *= np.clip(1.1 * _FALL / max(beyond(outside) + _FALL, 1e-6), 1.5, 4.0)
    return float(brentq(beyond, inside, outside, xtol=2e-3))
