"""The most likely model of some results: a coarse grid, then a local search from its best point.

Values are standardized first, so that their unit does not matter. A candidate is a kernel, its
length scale, the noise's share s of the variance v, and the drift between two results. Under it
the values have the covariance v C with C = K o D + S. S is diagonal: s, s / n for a mean of n
repeats, sigma_i^2 / v for a variance that is known. The mean is integrated out around its
generalized least squares estimate m, and v = q / (n - 1); if S depends on v, a few times in turn.
Weak priors stand in for data while there are few: a length of about a fifth of the cube's diagonal,
a small share of noise, a drift of a hundredth, two more values of the usual size.

Symbols
-------
n  results        r (n,)  standardized values        x (n, d)  points
K, D  (n, n) correlations in space and in time       q  (r - m)^T C^{-1} (r - m)
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import log
from operator import itemgetter

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import chi2

from heliotrope.estimation.model import KERNEL_NAMES, Given, KernelName, Model
from heliotrope.estimation.outliers import OutlierBounds
from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World
from heliotrope.estimation.worlds import estimate_world
from heliotrope.validation import Array

RATES = (3e-4, 3e-3, 0.02, 0.15)  # candidates for the drift between two results
_SHARES = (1e-3, 0.01, 0.08, 0.6)  # candidates for the share of noise
_LENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8)  # as shares of the cube's diagonal
_USUAL = np.log([0.2, 0.02, 0.01])  # length as a share of the diagonal, share of noise, rate
_SPREAD = np.array([0.7, 2.0, 2.5])  # prior deviations of these logarithms
_LEAST_RATE = 1e-5
_MOST = (np.inf, np.inf, 0.9)  # upper limits of length, share, rate
_BEYOND = 3.0  # factor by which a search may leave the grid
_STEP, _EVALUATIONS = 0.5, 50  # first step and budget of a search
_CLOSE = 0.02  # tolerance in logarithms, and in the log likelihood
_SOME = 50  # of the latest results, and as many older ones, for the grid
_FEW = 5  # results; fewer give only mean and variance
_EXTRA = 2.0  # values of the usual size, as a prior
_EXCEEDED = 0.2  # probability that the true variance is higher
_NOISY = 0.3  # share of noise from which noise dominates
_TURNS = 4  # of S and v
_SHARES_OF_ONE = (1e-6, 1e250)  # limits of the share of noise of one result


def estimate_model(results: Results, given: Given, rates: Sequence[float] = RATES) -> Model:
    """Return the most likely model; given parameters stay, and a single rate counts as given.

    Its variance is the 80 % quantile rather than the most likely one. Too low a variance, or too
    long a length scale, can keep a policy from ever looking elsewhere; the opposite error only
    costs a few evaluations.
    """
    likelihood = _Likelihood(results, given, results.pace)
    found, _ = max(_estimates(likelihood, given, rates), key=itemgetter(1))
    if given.variance is None:
        found = _with_upper_variance(likelihood, found)
    return found if given.length_scale is not None else _with_short_length(likelihood, found)


def estimate_robustly(
    results: Results, bounds: OutlierBounds, given: Given, rates: Sequence[float] = RATES
) -> Model:
    """Return the most likely model of the most informative results, with outliers clipped."""
    clipped = replace(results, y=bounds.clip(results.y))
    found = estimate_model(clipped.informative(), given, rates)
    return replace(found, low=bounds.low, high=bounds.high)


def estimate_sum(
    results: Results,
    groups: Sequence[Sequence[int]],
    before: World | None = None,
    period: float = 0.0,
    candidates: Sequence[float] = (),
) -> Model:
    """Return the most likely sum of terms; see :func:`estimate_world`."""
    informative = results.informative()
    world = estimate_world(informative, groups, before, period, candidates)
    world = replace(world, period=world.period * informative.pace / results.pace)
    return Model.of_world(world, results.pace)


def _correlation(kernel: KernelName, distances: Array) -> Array:
    """Correlation over distances in units of the length scale."""
    if kernel == "se":
        return np.asarray(np.exp(-0.5 * distances**2))
    r = np.sqrt(5.0) * distances
    return np.asarray((1.0 + r + r**2 / 3.0) * np.exp(-r))


class _Likelihood:
    """Likelihood of the results, with mean and variance eliminated unless given."""

    def __init__(self, results: Results, given: Given, pace: float) -> None:
        self.results, self.diagonal = results, float(np.sqrt(results.x.shape[1]))
        self._given, self.pace = given, pace
        self._center, self._spread = float(np.mean(results.precise)), results.spread
        self._own = results.noise[:, 0] / self._spread**2
        self._has_own = not np.isnan(self._own).all()
        r = (results.y - self._center) / self._spread
        self._columns = np.column_stack([r, np.ones_like(r)])
        lags = np.abs(results.t[:, None] - results.t[None, :]) / pace
        distances = cdist(results.x, results.x)

        def in_space(kernel: KernelName, length: float) -> Array:
            return _correlation(kernel, distances / length)

        def in_time(rate: float) -> Array:
            return np.asarray((1.0 - rate) ** (0.5 * lags))  # at rate 1 too: 0 ** 0 is 1

        self._in_space = lru_cache(maxsize=1)(in_space)  # a grid repeats it
        self._in_time = lru_cache(maxsize=len(RATES))(in_time)

    def correlations(self, kernel: KernelName, length: float, rate: float) -> Array:
        """K o D, (n, n)."""
        return self._in_space(kernel, length) * self._in_time(rate)

    def model(
        self, kernel: KernelName, length: float, share: float, rate: float
    ) -> tuple[Model, float]:
        """The model of these parameters with their best mean and variance, and its score."""
        mean, variance, score = self.fit(kernel, length, share, rate)
        mean, variance = self._center + self._spread * mean, self._spread**2 * variance
        model = Model(mean, variance, share * variance, kernel, length, self.pace, rate=rate)
        return self._given.override(model), score

    def fit(
        self, kernel: KernelName, length: float, share: float, rate: float
    ) -> tuple[float, float, float]:
        """Best standardized mean and variance, and the score.

        The score is the log posterior density of the parameters, up to a constant.
        """
        C = self.correlations(kernel, length, rate)
        mean, variance, score = self._moments(C, share)
        usual = np.log([length / self.diagonal, share, max(rate, _LEAST_RATE)]) - _USUAL
        return mean, variance, score - 0.5 * float(np.sum((usual / _SPREAD) ** 2))

    def noise_shares(self, share: float, variance: float) -> Array:
        """The diagonal of S, (n,), for a standardized variance."""
        own = np.where(np.isnan(self._own), share / self.results.noise[:, 1], self._own / variance)
        return own.clip(*_SHARES_OF_ONE)

    def standardized(self, variance: float) -> float:
        """A variance of the values in units of their spread."""
        return variance / self._spread**2

    def _moments(self, C: Array, share: float) -> tuple[float, float, float]:
        """Mean and variance of the standardized values, and their log likelihood."""
        mean, variance, score = 0.0, self._variance(share) or 1.0, -np.inf
        for _ in range(_TURNS if self._has_own else 1):
            noisy = C.copy() if self._has_own else C
            noisy.flat[:: len(C) + 1] += self.noise_shares(share, variance)
            mean, variance, score = self._solved(noisy, share)
        return mean, variance, score

    def _solved(self, C: Array, share: float) -> tuple[float, float, float]:
        """The same, for the matrix C, which is overwritten."""
        L, failed = lapack.dpotrf(C.T, lower=1, overwrite_a=1)  # called often: no checks
        if failed:
            return 0.0, 1.0, -np.inf
        r, one = lapack.dtrtrs(L, self._columns, lower=1)[0].T
        precision, degrees = float(one @ one), len(r) - 1 + _EXTRA
        mean = float(one @ r) / precision
        if self._given.mean is not None:
            mean = (self._given.mean - self._center) / self._spread
        q = float(np.sum((r - mean * one) ** 2)) + _EXTRA
        variance = self._variance(share) or q / degrees
        log_det = 2.0 * float(np.log(np.diag(L)).sum()) + log(precision)
        return mean, variance, -0.5 * (log_det + degrees * log(variance) + q / variance)

    def _variance(self, share: float) -> float | None:
        """The standardized variance, if the given parameters determine it."""
        if self._given.variance is not None:
            return self._given.variance / self._spread**2
        return None if self._given.noise is None else self._given.noise / share / self._spread**2


def _estimates(
    likelihood: _Likelihood, given: Given, rates: Sequence[float]
) -> Iterator[tuple[Model, float]]:
    """The most likely model of each kernel, and its score."""
    few, results = len(likelihood.results.y) < _FEW, likelihood.results
    some = results.at(results.select(_SOME, _SOME))
    coarse = _Likelihood(some, given, likelihood.pace)
    kernels = KERNEL_NAMES[:1] if few else KERNEL_NAMES
    axes = [*_axes(likelihood.diagonal, given), rates]
    if few:
        axes = [axis[len(axis) // 2 :][:1] for axis in axes]
    for kernel in kernels if given.kernel is None else (given.kernel,):
        point = max(product(*axes), key=lambda point: coarse.fit(kernel, *point)[2])
        yield _search(likelihood, kernel, point, axes)


def _axes(diagonal: float, given: Given) -> tuple[Sequence[float], Sequence[float]]:
    """Candidates for the length scale and for the share of noise; one if it is given."""
    lengths, shares = [length * diagonal for length in _LENGTHS], list(_SHARES)
    if given.length_scale is not None:
        lengths = [given.length_scale]
    if given.noise is not None and given.variance is not None:
        shares = [given.noise / given.variance]
    return lengths, shares


def _search(
    likelihood: _Likelihood,
    kernel: KernelName,
    start: Sequence[float],
    axes: Sequence[Sequence[float]],
) -> tuple[Model, float]:
    """The most likely model near a start, over the logarithms of the free parameters."""
    free = [i for i, axis in enumerate(axes) if len(axis) > 1]
    if not free:
        return likelihood.model(kernel, *start)

    def around(logs: Array) -> list[float]:
        point = list(start)
        for i, value in zip(free, np.exp(logs).tolist(), strict=True):
            point[i] = value
        return point

    ends = [(axes[i][0] / _BEYOND, min(axes[i][-1] * _BEYOND, _MOST[i])) for i in free]
    begin = np.log([start[i] for i in free])
    found = minimize(
        lambda logs: -likelihood.fit(kernel, *around(logs))[2],
        begin,
        method="Nelder-Mead",
        bounds=np.log(ends),
        options={
            "maxfev": _EVALUATIONS,
            "initial_simplex": np.vstack([begin, begin + _STEP * np.eye(len(free))]),
            "xatol": _CLOSE,
            "fatol": _CLOSE,
        },
    )
    return likelihood.model(kernel, *around(found.x))


def _with_upper_variance(likelihood: _Likelihood, model: Model) -> Model:
    """The model with the variance's 80 % quantile.

    q / v has a chi-square distribution. Its degrees of freedom are the number of directions in
    which the function stands out from the noise: tr(K o D C^{-1}).
    """
    share = model.noise / model.variance
    C = likelihood.correlations(model.kernel, model.length_scale, model.rate)
    S = likelihood.noise_shares(share, likelihood.standardized(model.variance))
    relative = np.sqrt(S / share)
    spectrum = np.linalg.eigvalsh(C / np.outer(relative, relative))
    freedom = max(float(np.sum(spectrum / (spectrum + share))), 1.0) - 1.0 + _EXTRA
    wider = float(freedom / chi2.ppf(_EXCEEDED, freedom))
    return replace(model, variance=wider * model.variance)


def _with_short_length(likelihood: _Likelihood, model: Model) -> Model:
    """The model with at most the usual length scale, while noise dominates.

    Pure noise makes long length scales likely. Under those nothing can lie between the corners of
    the cube, and a policy would measure only there.
    """
    share, variance = model.noise / model.variance, likelihood.standardized(model.variance)
    if np.median(likelihood.noise_shares(share, variance)) < _NOISY:
        return model
    usual = float(np.exp(_USUAL[0])) * likelihood.diagonal
    return replace(model, length_scale=min(model.length_scale, usual))
