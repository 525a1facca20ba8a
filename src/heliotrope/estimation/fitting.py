"""Fit of a prior by maximum marginal likelihood, with intervals for its shares and rates."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter

import numpy as np

from heliotrope.errors import InputError, KernelError
from heliotrope.estimation.coordinates import (
    FASTEST,
    Coordinates,
    noise_shifts,
    rate_shifts,
    space_shifts,
)
from heliotrope.estimation.data import Data, Observations, Panel
from heliotrope.estimation.intervals import Estimate, NoMaximumError, Profile
from heliotrope.estimation.likelihood import checked_episodes, log_density, value_and_gradient
from heliotrope.estimation.parameters import KINDS, TERM_RATES, rate_of, term_names
from heliotrope.kernels import Tabulated
from heliotrope.lazy import lazy_module
from heliotrope.priors import Prior
from heliotrope.terms import NOISE_PART, Term
from heliotrope.validation import Array, as_whole

special = lazy_module("scipy.special")
optimize = lazy_module("scipy.optimize")

_FAILED = 1e25  # minus the log likelihood where the kernel fails
_FAILURES = (KernelError, np.linalg.LinAlgError)
_SEARCHES = 2  # number of best starts to search from, for each level of noise
_TRIAL, _LONGEST = 15, 1000  # iterations from each start, and from the best of their ends
_VANISHED, _LEAST = 1e-3, 1e-12  # share of a part that may not be there, and the least that counts
_LOSS, _PASSABLE = 0.02, 0.1  # log likelihood by which it just matters, and that may be lost
_LOGITS = (-15.0, 15.0)  # limits of shares
_NEAR = 1.0  # difference between coordinates of rates that are about the same
_STEP = 1e-5  # of differences


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted prior, its log likelihood ``value``, and intervals for its shares and rates.

    ``shares`` are the shares of the parts and of the noise in the variance of the data, ``rates``
    the learned rates such as ``drifts.epsilon``, each with its 95 % profile-likelihood interval.
    ``at_bounds`` names the parameters that ended on a bound of the search: the data favour values
    beyond it.
    """

    prior: Prior
    value: float
    converged: bool
    shares: Mapping[str, Estimate]
    rates: Mapping[str, Estimate]
    at_bounds: tuple[str, ...]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the only epsilon; None if none or several were learned."""
        epsilons = [rate for name, rate in self.rates.items() if name.endswith(".epsilon")]
        return (epsilons[0].low, epsilons[0].high) if len(epsilons) == 1 else None

    def __str__(self) -> str:
        rows = [("part", "share (95 %)", "rate (95 %)", "kernel"), *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        bound = f"; on a bound: {', '.join(self.at_bounds)}" if self.at_bounds else ""
        return "\n".join([*lines, f"log likelihood {self.value:.6g}{bound}"])

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        seen = set[str]()
        for term, name in zip(self.prior.terms, term_names(self.prior), strict=True):
            share = "" if term.name in seen else str(self.shares[term.name])  # once for each part
            seen.add(term.name)
            field = rate_of(term)
            rate = "" if field is None else f"{field} {self._rate(term, name, field)}"
            yield name, share, rate, str(term.space)
        yield NOISE_PART, str(self.shares[NOISE_PART]), "", f"{self.prior.noise:.3g}"

    def _rate(self, term: Term, name: str, field: str) -> str:
        learned = self.rates.get(f"{name}.{field}")
        return f"{getattr(term, field):.3g}" if learned is None else str(learned)


def fit(prior: Prior, data: Data, learn: Iterable[str] = KINDS, restarts: int = 2) -> Fit:
    """Maximize the likelihood over the free parameters of all terms and the noise.

    ``learn`` names what to learn: kinds of parameters (``space`` for those of the kernels,
    ``epsilon``, ``length``, ``growth``, ``time``, ``noise``), terms, or single parameters such as
    ``drifts.epsilon``. All others, and those that a scikit-learn kernel holds fixed, keep the
    prior's values. The kernels' bounds apply. Candidate starts are the prior, other rates, noise
    and variances on the scale of the data, permuted variances of the terms, and ``restarts`` random
    kernels within their bounds. A short search runs from the best few candidates. The best of their
    ends then starts a search until convergence.
    """
    parts, restarts = checked_episodes(prior, data), as_whole(restarts, "restarts", least=0)
    search = _Search(prior, parts, learn)
    value_and_gradient(
        prior, parts
    )  # raises an error for data that are too large, before the search
    tried = [search.maximize(start, _TRIAL) for start in search.starts(restarts)]
    start = max(tried, key=itemgetter(1))[0]
    while True:
        best, value, converged = search.maximize(start, _LONGEST)
        search.check_rates(best)
        try:
            shares_found, rates = search.estimates(best, value)
            break
        except NoMaximumError as higher:
            start = higher.u
    at_bounds = search.coordinates.at_bounds(best)
    return Fit(search.coordinates.prior(best), value, converged, shares_found, rates, at_bounds)


class _Search:
    """The likelihood as a function of coordinates, its maximum, and the estimates there."""

    def __init__(
        self, prior: Prior, data: list[Observations | Panel], learn: Iterable[str]
    ) -> None:
        self._prior, self._data = prior, data
        self.coordinates = Coordinates(prior, data, learn)

    def value(self, u: Array) -> float:
        """Log likelihood."""
        try:
            return log_density(self.coordinates.prior(u), self._data)
        except _FAILURES:  # not positive definite this far from the start
            return -_FAILED

    def value_and_slopes(self, u: Array) -> tuple[float, Array]:
        """Log likelihood, and its gradient by the coordinates."""
        try:
            value, gradient = value_and_gradient(self.coordinates.prior(u), self._data)
        except _FAILURES:
            return -_FAILED, np.zeros(len(u))
        return value, self.coordinates.slopes(u, gradient)

    def maximize(self, start: Array, iterations: int) -> tuple[Array, float, bool]:
        """Maximize from a start, for at most some iterations."""

        def descent(u: Array) -> tuple[float, Array]:
            value, slopes = self.value_and_slopes(u)
            return -value, -slopes

        optimum = optimize.minimize(
            descent,
            start,
            jac=True,
            bounds=self.coordinates.bounds,
            method="L-BFGS-B",
            options={"maxiter": iterations},
        )
        return np.asarray(optimum.x), -float(optimum.fun), bool(optimum.success)

    def starts(self, restarts: int) -> list[Array]:
        """The best of the prior's parameters, other rates, noises and kernels."""
        own, variances = self.coordinates, term_variances(self._prior, self._data)[:-1]
        shifts = product(space_shifts(self._prior, own, variances, restarts), rate_shifts(own))
        moved = [own.start + space + rate for space, rate in shifts]
        chosen: list[Array] = []
        for noise in noise_shifts(own):
            starts = [np.clip(start + noise, *own.bounds.T) for start in moved]
            chosen += sorted(starts, key=self.value, reverse=True)[:_SEARCHES]
        return chosen

    def check_rates(self, best: Array) -> None:
        """Raise an error if the whole function changes within a unit of time."""
        epsilons = self.coordinates.values(best)[self.coordinates.of_kind("epsilon")]
        if np.any(epsilons >= FASTEST):
            raise InputError(
                "a unit of time in which part of the function stays, since epsilon is per unit",
                f"a usual step of {self.coordinates.spacing:g}",
                "Count time in shorter units, so that the numbers get larger.",
            )

    def estimates(
        self, best: Array, value: float
    ) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
        """The shares of the parts and of the noise, and the rates."""
        own, now = self.coordinates, shares(self.coordinates.prior(best), self._data)
        base = best
        for part in [part for part, share in now.items() if share < _VANISHED]:
            raised = self._raised(part, now[part], base)
            base = raised if self.value(raised) > value - _PASSABLE else base
        profile = Profile(self.value_and_slopes, base, own.bounds, value)
        rates = {
            i: profile.estimate(partial(_coordinate, i), own.bounds[i])
            for i, parameter in enumerate(own.parameters)
            if parameter.kind in TERM_RATES
        }
        variances, by_part = LogVariances(own, self._data, base), dict[str, Estimate]()
        for part in now:
            share, other = partial(variances.logit_share, part), self._other(part, base, rates)
            logits = profile.estimate(share, _LOGITS, other)
            by_part[part] = _around(now[part], *special.expit(logits[1:]).tolist())
        names = [parameter.name for parameter in own.parameters]
        return by_part, {names[i]: self._rate(i, best, rate) for i, rate in rates.items()}

    def _other(self, part: str, base: Array, rates: Mapping[int, Estimate]) -> Array | None:
        """The base with the prior's rates of a part, where they are plausible and others."""
        own, other = self.coordinates, base.copy()
        for i, rate in rates.items():
            start = own.start[i]
            if own.parameters[i].term == part and rate.low < start < rate.high:
                other[i] = start
        return None if np.abs(other - base).max() < _NEAR else other

    def _raised(self, part: str, share: float, u: Array) -> Array:
        """Coordinates at which a part that has vanished just matters, with the prior's rates.

        At a variance of about 0 the likelihood has no slope by its logarithm, and rates are
        arbitrary. Where the variance v matters little, the likelihood is linear in v.
        """
        own = self.coordinates
        mine = np.array([parameter.term == part for parameter in own.parameters])
        is_rate = np.array([parameter.kind in TERM_RATES for parameter in own.parameters])
        moved = np.where(mine & is_rate, np.clip(own.start, *own.bounds.T), u)
        loss = np.maximum(-self.value_and_slopes(moved)[1], _LEAST)
        rise = np.clip(np.log(_LOSS / loss), 0.0, np.log(_VANISHED / max(share, _LEAST)))
        return np.where(mine & own.are_variances, moved + rise, moved)

    def _rate(self, i: int, best: Array, estimate: Estimate) -> Estimate:
        """A rate, from its coordinate."""
        ends = [np.where(np.arange(len(best)) == i, end, best) for end in estimate]
        low, high = (float(self.coordinates.values(end)[i]) for end in ends[1:])
        return _around(float(self.coordinates.values(best)[i]), low, high)


def _coordinate(i: int, u: Array) -> tuple[float, Array]:
    return float(u[i]), np.eye(len(u))[i]


def _around(value: float, low: float, high: float) -> Estimate:
    """An interval that holds the value, also where the profile began beside the maximum."""
    return Estimate(value, min(value, low), max(value, high))


def shares(prior: Prior, data: list[Observations | Panel]) -> dict[str, float]:
    """Return the share of each part, and of the noise, in the prior variance of the data."""
    variances, names = term_variances(prior, data), [term.name for term in prior.terms]
    by_part = dict.fromkeys([*prior.parts(), NOISE_PART], 0.0)
    for name, variance in zip([*names, NOISE_PART], variances.tolist(), strict=True):
        by_part[name] += variance / float(variances.sum())
    return by_part


def term_variances(prior: Prior, data: list[Observations | Panel]) -> Array:
    """The mean prior variance of the data due to each term, and to the noise."""
    values = [part.y if isinstance(part, Observations) else part.values for part in data]
    counts = [np.count_nonzero(~np.isnan(part)) for part in values]
    signal = [[_variance(term, part) for term in prior.terms] for part in data]
    noise = [[_noise(prior, part)] for part in data]
    return np.asarray(np.average(np.hstack([signal, noise]), axis=0, weights=counts))


class LogVariances:
    """The logarithms of the terms' variances and of the noise, linear in the coordinates.

    They are linear where each term's variance is a factor of its kernel, and nearly so otherwise.
    """

    def __init__(
        self, coordinates: Coordinates, data: list[Observations | Panel], best: Array
    ) -> None:
        prior = coordinates.prior(best)
        self._names = [*(term.name for term in prior.terms), NOISE_PART]
        self._best, self._logs = best, np.log(term_variances(prior, data))
        ahead = [coordinates.prior(best + step) for step in _STEP * np.eye(len(best))]
        moved = np.array([np.log(term_variances(stepped, data)) for stepped in ahead])
        self._J = (moved - self._logs).T / _STEP

    def logit_share(self, part: str, u: Array) -> tuple[float, Array]:
        """The logit of a part's share, and its derivatives by the coordinates."""
        logs, mine = self._logs + self._J @ (u - self._best), np.array(self._names) == part
        part_weights, rest_weights = special.softmax(logs[mine]), special.softmax(logs[~mine])
        logit = special.logsumexp(logs[mine]) - special.logsumexp(logs[~mine])
        return float(logit), part_weights @ self._J[mine] - rest_weights @ self._J[~mine]


def _variance(term: Term, part: Observations | Panel) -> float:
    """The mean of k(x, x) c(t, t)."""
    times = part.t if isinstance(part, Observations) else part.times
    over_time, over_space = term.in_time(times, times, float(times.min())), _diagonal(term, part)
    if isinstance(part, Observations):
        return float(np.mean(over_space * over_time))
    measured = ~np.isnan(part.values)
    return float(over_time @ measured @ over_space / measured.sum())


def _diagonal(term: Term, part: Observations | Panel) -> Array:
    """k(x, x) of the observations, or of the columns of a panel."""
    if isinstance(term.space, Tabulated):
        table = np.diag(term.space.K)
        return table if isinstance(part, Panel) else table[part.x.ravel().astype(np.intp)]
    if isinstance(part, Observations):
        points = part.x
    else:  # without points, all columns share the term
        points = np.zeros(part.values.shape[1]) if part.points is None else part.points
    return np.asarray(term.space.diag(points if points.ndim == 2 else points[:, None]))


def _noise(prior: Prior, part: Observations | Panel) -> float:
    return float(part.noise(prior.noise).mean()) if isinstance(part, Observations) else prior.noise
