"""The share of each part of a prior in the variance of the data."""

import numpy as np

from heliotrope.estimation.coordinates import Coordinates
from heliotrope.estimation.data import Observations, Panel
from heliotrope.kernels import Tabulated
from heliotrope.lazy import lazy_module
from heliotrope.priors import Prior
from heliotrope.terms import NOISE_PART, Term
from heliotrope.validation import Array

special = lazy_module("scipy.special")

_STEP = 1e-5  # of differences


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
