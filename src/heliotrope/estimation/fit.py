"""Fit of a prior by maximum marginal likelihood, with a confidence interval of epsilon.

The search runs over unbounded parameters: the logit of the share that is new after one step of the
data (so that the unit of time does not matter), the logarithm of the noise, and the space kernel's
theta, which is logarithmic already.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.errors import InputError, KernelError
from heliotrope.estimation.data import Data, Observations, Panel, episodes, spacing, spread
from heliotrope.estimation.likelihood import check_learnable, log_likelihood, value_and_gradient
from heliotrope.priors import Forgetting, Prior, Static
from heliotrope.validation import Array, as_whole

LEARNABLE = ("epsilon", "noise", "space")
_EPSILON_BOUNDS = (1e-7, 1.0 - 1e-4)
_NOISE_BOUNDS = (1e-8, 10.0)  # shares of the data's variance; extended to include the prior's noise
_NOISE_START = 0.1  # also a share
_FAILED = 1e25  # minus the log likelihood where the kernel fails
_STARTS = (0.001, 0.02, 0.3)  # further epsilons to start from
_LEAST_SPACING = 0.05  # measurements closer in time are not a step apart
_FASTEST = 1.0 - 1e-9  # largest epsilon; beyond it 1 - epsilon is mostly rounding
_SEARCHES = 2  # number of best starts to search from, for each level of noise
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
    if not isinstance(prior.time, (Static, Forgetting)):
        raise InputError("a Static or Forgetting time", str(prior.time))
    names, restarts = _names(learn), as_whole(restarts, "restarts", least=0)
    parts = episodes(data)
    problem = _Problem(prior, parts, names)
    if not len(problem.bounds):
        raise InputError("parameters to learn", f"none: {prior.space} has no free ones")
    log_likelihood(prior, parts)  # raises the errors of the data and the kernel before the search
    found = map(problem.maximize, problem.starts(restarts))
    best, value, converged = max(found, key=itemgetter(1))
    interval = problem.interval(best, value) if "epsilon" in names else None
    return Fit(problem.prior(best), value, converged, interval, problem.at_bounds(best))


def epsilon(prior: Prior) -> float:
    """The drift rate; 0 for a Static prior."""
    return prior.time.epsilon if isinstance(prior.time, Forgetting) else 0.0


def _names(learn: Iterable[str]) -> tuple[str, ...]:
    several = isinstance(learn, Iterable) and not isinstance(learn, str)
    names: tuple[Any, ...] = tuple(learn) if several else (learn,)
    if not names or any(name not in LEARNABLE for name in names):
        raise InputError(f"learn to be some of {LEARNABLE}", repr(names))
    return names


class _Problem:
    """The learned parameters as one vector u: logit epsilon, log noise, theta."""

    def __init__(
        self, prior: Prior, data: list[Observations | Panel], learn: tuple[str, ...]
    ) -> None:
        self._prior, self._data, self._learn = prior, data, learn
        self._spread, self._spacing = spread(data), max(spacing(data), _LEAST_SPACING)
        self._theta, self._theta_bounds = np.empty(0), np.empty((0, 2))
        if isinstance(prior.space, Kernel):
            self._theta = np.asarray(prior.space.theta, dtype=float)
            self._theta_bounds = np.reshape(prior.space.bounds, (-1, 2))
        noises = np.append(self._spread * np.array(_NOISE_BOUNDS), prior.noise)
        noises = np.log(noises[noises > 0.0])
        self.bounds = self._chosen(  # (p, 2)
            [logit(_EPSILON_BOUNDS)], [(noises.min(), noises.max())], self._theta_bounds
        )

    def _chosen(self, *parts: Any) -> Array:
        """One vector of what belongs to the learned parameters, given for each learnable one."""
        named = zip(LEARNABLE, parts, strict=True)
        return np.concatenate([part for name, part in named if name in self._learn])

    def prior(self, u: Array) -> Prior:
        """The prior of a vector of free parameters."""
        prior, rest = self._prior, u.tolist()
        if "epsilon" in self._learn:
            prior = prior.with_time(Forgetting(self.rate(rest.pop(0))))
        if "noise" in self._learn:
            prior = replace(prior, noise=float(np.exp(rest.pop(0))))
        if rest:
            assert isinstance(prior.space, Kernel)
            prior = prior.with_space(prior.space.clone_with_theta(np.array(rest)))
        return prior

    def value(self, u: Array) -> float:
        """Log likelihood."""
        try:
            return log_likelihood(self.prior(u), self._data)
        except KernelError:  # not positive definite this far from the start
            return -_FAILED

    def descent(self, u: Array) -> tuple[float, Array]:
        """Minus the log likelihood, and its gradient by the free parameters."""
        prior = self.prior(u)
        try:
            value, found = value_and_gradient(prior, self._data)
        except KernelError:
            return _FAILED, np.zeros(len(u))
        rate, p = epsilon(prior), len(self._theta)
        by_rate = float(found[p]) if isinstance(prior.time, Forgetting) else 0.0
        by_logit = by_rate * (self._per_step(rate) * (1.0 - rate) / self._spacing)
        return -value, -self._chosen([by_logit], [found[-1] * prior.noise], found[:p])

    def rate(self, logit_per_step: float) -> float:
        """Epsilon per unit of time, from the logit of the share that is new after one step."""
        per_unit = float(-np.expm1(np.log1p(-expit(logit_per_step)) / self._spacing))
        return min(per_unit, _FASTEST)

    def _per_step(self, rate: float) -> float:
        """The share that is new after one step of the data: 1 - (1 - epsilon)^spacing."""
        return float(-np.expm1(self._spacing * np.log1p(-min(rate, 1.0 - 1e-12))))

    def starts(self, restarts: int) -> list[Array]:
        """The best of the prior's parameters, other drift rates, noises and kernels."""
        here = min(max(self._per_step(epsilon(self._prior)), 1e-5), 0.999)
        rates = (here, *_STARTS) if "epsilon" in self._learn else (here,)
        noises = [self._prior.noise, _NOISE_START * self._spread]
        chosen: list[Array] = []
        for noise in noises if "noise" in self._learn and self._spread > 0.0 else noises[:1]:
            starts = [
                self._chosen([float(logit(rate))], [float(np.log(noise))], theta)
                for theta in self._thetas(restarts)
                for rate in rates
            ]
            chosen += sorted(starts, key=self.value, reverse=True)[:_SEARCHES]
        return chosen

    def _thetas(self, restarts: int) -> list[Array]:
        """The prior's theta, one with the variance of the data, and random ones."""
        thetas, first = [self._theta], self._data[0]
        if "space" not in self._learn or not len(self._theta):
            return thetas
        points = first.points if isinstance(first, Panel) else first.x
        if points is not None and points.ndim == 2 and self._spread > 0.0:
            thetas.append(self._theta_for_variance(points))
        rng, bounds = np.random.default_rng(0), self._theta_bounds.T
        low, high = np.clip([thetas[-1] - 3.0, thetas[-1] + 3.0], *bounds)
        return thetas + [rng.uniform(low, high) for _ in range(restarts)]

    def _theta_for_variance(self, points: Array) -> Array:
        """Theta whose constant factors give the kernel the variance of the data at the points."""
        space = self._prior.space
        assert isinstance(space, Kernel)
        free = [one for one in space.hyperparameters if not one.fixed]
        is_factor = [one.name.endswith("constant_value") for one in free]
        factors = np.repeat(is_factor, [one.n_elements for one in free]).astype(float)
        ratio = self._spread / float(np.mean(space.diag(points)))
        return np.asarray(np.clip(self._theta + np.log(ratio) * factors, *self._theta_bounds.T))

    def maximize(self, start: Array, fixed: int | None = None) -> tuple[Array, float, bool]:
        """Maximize from a start, with the parameter ``fixed`` held."""
        bounds = self.bounds.copy()
        if fixed is not None:
            bounds[fixed] = start[fixed]
        found = minimize(self.descent, start, jac=True, bounds=bounds, method="L-BFGS-B")
        return np.asarray(found.x), -float(found.fun), bool(found.success)

    def interval(self, best: Array, value: float) -> tuple[float, float]:
        """The epsilons at which the profile likelihood has fallen by 1.96^2 / 2."""
        if self.rate(float(best[0])) >= _FASTEST:
            raise InputError(
                "a unit of time within which not everything changes, since epsilon is per unit",
                f"a usual step of {self._spacing:g}",
                "Count time in shorter units, so that the numbers get larger.",
            )
        low, high = (
            _crossing(self._fall(best, value), float(best[0]), end)
            for end in self.bounds[0].tolist()
        )
        return self.rate(low), self.rate(high)

    def _fall(self, best: Array, value: float) -> Callable[[float], float]:
        """Root of twice the profile's fall from its top, about linear in logit epsilon.

        Each search starts where the last one ended.
        """
        u = best.copy()

        def fall(rate: float) -> float:
            u[0] = rate
            if len(u) == 1:
                top = self.value(u)
            else:
                u[:], top, _ = self.maximize(u, fixed=0)
            return float(np.sqrt(2.0 * max(value - top, 0.0)))

        return fall

    def at_bounds(self, best: Array) -> tuple[str, ...]:
        """The names of the parameters that are on a bound."""
        low, high = self.bounds.T
        slack = 1e-6 * (high - low)
        on = (best <= low + slack) | (best >= high - slack)
        names = self._chosen(["epsilon"], ["noise"], ["space"] * len(self._theta))
        return tuple(dict.fromkeys(names[on].tolist()))


def _crossing(fall: Callable[[float], float], start: float, end: float) -> float:
    """The rate between start and end at which the fall reaches 1.96; the end if it never does.

    The fall is zero at the start. Its values are cached, since a repeated search may end slightly
    higher or lower.
    """

    @cache
    def beyond(rate: float) -> float:
        return (0.0 if rate == start else fall(rate)) - _FALL

    inside, outside = start, start
    step = 0.1 if end > start else -0.1
    while beyond(outside) < 0.0:
        if outside == end:
            return end
        inside = outside
        outside = float(np.clip(start + step, min(start, end), max(start, end)))
        step *= np.clip(1.1 * _FALL / max(beyond(outside) + _FALL, 1e-6), 1.5, 4.0)
    return float(brentq(beyond, inside, outside, xtol=2e-3))
