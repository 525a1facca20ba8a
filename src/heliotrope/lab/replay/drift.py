"""The drift rate of a log: how fast information about its places becomes stale.

Each place has a mean, plus the paper's f_t, plus noise. All places share epsilon; each has its own
unknown mean, variance and noise. The likelihood of a place is the restricted one, because
subtracting an estimated mean removes drift as well. Correlated places carry the same information,
so the sum over places is scaled to their effective number of independent places.

Symbols
-------
T, M   times, places           Y (T, M)  standardized values; NaN is a gap
R      candidate noises        r (R, 1)  noise over signal variance
rho    (T,) correlation with the time before, 0 at the first
a, b   predicted mean of f_t for the values Y, and for values that are all 1;  C its variance
v, u   innovations of Y and of the ones;  S their variance, in units of the signal's
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2

from heliotrope.errors import InputError
from heliotrope.validation import Array, Indices

_RATES = logit([*np.geomspace(1e-6, 0.5, 9), 0.8, 0.97, 0.999]).tolist()
_RATIOS = np.geomspace(1e-4, 30.0, 23)  # candidates of r
_LATEST, _MOST = 2000, 50  # rows and places that are used
_LEAST = 3  # values per place: two determine its mean and variance
_ROUNDING = 1e-14
_DROP = float(
    np.sqrt(chi2.ppf(0.95, df=1) / 2.0)
)  # square root of the drop of the log likelihood at the ends


@dataclass(frozen=True)
class Drift:
    """The maximum-likelihood epsilon per unit of time, and its 95 % interval."""

    epsilon: float
    interval: tuple[float, float]

    @property
    def half_life(self) -> float:
        """Units of time after which half of the information is stale."""
        return half_life(self.epsilon)


def half_life(epsilon: float) -> float:
    """Units of time n with (1 - epsilon)^n = 1/2, the remaining share of explained variance.

    Examples
    --------
    >>> half_life(0.5)
    1.0
    """
    return float(np.log(0.5) / np.log1p(-epsilon))


def drift_rate(times: Array, values: Array) -> Drift:
    """Estimate epsilon from the latest of increasing times (T,) and values (T, M), NaN in gaps."""
    latest = values[-_LATEST:]
    Y = _standardized(latest[:, _informative(latest)])
    profile = _Profile(times[-_LATEST:], Y)
    value = cache(profile.value)
    top = _top(value)
    weight = _effective_number(Y, profile.noise_shares(top)) / len(Y.T)

    def drop(rate: float) -> float:
        return float(np.sqrt(weight * max(value(top) - value(rate), 0.0))) - _DROP

    low = _crossing(drop, top, [rate for rate in reversed(_RATES) if rate < top])
    high = _crossing(drop, top, [rate for rate in _RATES if rate > top])
    return Drift(float(expit(top)), (float(expit(low)), float(expit(high))))


def _informative(values: Array) -> Indices:
    """Columns with at least three values that are not all equal, at most ``_MOST`` of them."""
    seen = ~np.isnan(values)
    lowest = np.where(seen, values, np.inf).min(axis=0)
    highest = np.where(seen, values, -np.inf).max(axis=0)
    informative = np.flatnonzero((seen.sum(axis=0) >= _LEAST) & (highest > lowest))
    if not len(informative):
        expected = f"a place with at least {_LEAST} values that are not all equal"
        raise InputError(f"{expected} in the training rows", "none", "Train on more rows.")
    some: Indices = np.linspace(0, len(informative) - 1, min(len(informative), _MOST)).astype(int)
    return informative[some]


def _standardized(values: Array) -> Array:
    centred = values - np.nanmean(values, axis=0)
    centred /= np.nanmax(np.abs(centred), axis=0)  # avoids overflow of squares
    return np.asarray(centred / np.nanstd(centred, axis=0))


@dataclass(frozen=True, eq=False)
class _Profile:
    """Profile log likelihood of the logit of epsilon."""

    times: Array
    Y: Array

    def value(self, rate: float) -> float:
        """The sum over the places."""
        return float(_peaks(self._by_ratio(rate))[1].sum())

    def noise_shares(self, rate: float) -> Array:
        """Share of noise in each place's variance, (M,)."""
        at, _ = _peaks(self._by_ratio(rate))
        return np.asarray(expit(np.interp(at, np.arange(len(_RATIOS)), np.log(_RATIOS))))

    def _by_ratio(self, rate: float) -> Array:
        rho = np.exp(0.5 * np.diff(self.times) * np.log1p(-expit(rate)))
        return _restricted(np.concatenate([[0.0], rho]), self.Y)


def _restricted(rho: Array, Y: Array) -> Array:
    """Restricted log likelihood (R, M) of each place at each ratio, maximized over the variance.

    Without gaps, quantities that do not depend on Y are equal for all places and have shape (R, 1).
    """
    seen, r = ~np.isnan(Y), _RATIOS[:, None]
    measured = seen[:, :1] if seen.all() else seen
    Y, a, b, C = np.where(seen, Y, 0.0), 0.0, 0.0, 1.0
    vv, uv, uu, log_S = 0.0, 0.0, 0.0, 0.0
    for t, rho_t in enumerate(rho.tolist()):
        P = 1.0 + rho_t**2 * (C - 1.0)
        S = P + r
        weight = measured[t] / S
        a, b = rho_t * a, rho_t * b
        v, u = Y[t] - a, 1.0 - b
        weighted = weight * v
        vv, uv, uu = vv + weighted * v, uv + weighted * u, uu + weight * u**2
        log_S = log_S + measured[t] * np.log(S)
        a, b, C = a + P * weighted, b + P * weight * u, P - P**2 * weight
    degrees = seen.sum(axis=0) - 1
    variance = np.maximum(vv - uv**2 / uu, _ROUNDING) / degrees
    return np.asarray(-0.5 * (degrees * np.log(variance) + log_S + np.log(uu)))


def _peaks(values: Array) -> tuple[Array, Array]:
    """Positions and heights of the columns' maxima (R, M), interpolated by a parabola."""
    columns = np.arange(values.shape[1])
    at = values.argmax(axis=0).clip(1, len(values) - 2)
    before, here, after = (values[at + step, columns] for step in (-1, 0, 1))
    slope, bend = 0.5 * (after - before), before - 2.0 * here + after
    by = np.clip(-slope / np.minimum(bend, -1e-12), -1.0, 1.0)
    return at + by, np.maximum(here + slope * by + 0.5 * bend * by**2, values.max(axis=0))


def _effective_number(Y: Array, noise_shares: Array) -> float:
    """Effective number of independent places among M correlated ones: M^2 / sum of c_ij^2.

    c is the correlation of the functions, without noise.
    """
    seen = ~np.isnan(Y)
    filled = np.where(seen, Y, 0.0)
    together = np.maximum(seen.astype(float).T @ seen, 1.0)
    signal = np.sqrt(1.0 - noise_shares)
    c = np.clip(filled.T @ filled / together / np.outer(signal, signal), -1.0, 1.0)
    np.fill_diagonal(c, 1.0)
    return len(c) ** 2 / float(np.sum(c**2))


def _top(value: Callable[[float], float]) -> float:
    """Maximize a function of the rate: over the candidates, then between them."""
    best = int(np.argmax([value(rate) for rate in _RATES]))
    around = _RATES[max(best - 1, 0)], _RATES[min(best + 1, len(_RATES) - 1)]
    found = minimize_scalar(
        lambda rate: -value(rate), bounds=around, method="bounded", options={"xatol": 2e-3}
    )
    return float(found.x)


def _crossing(drop: Callable[[float], float], top: float, outward: Sequence[float]) -> float:
    """Where a drop that is negative at the top reaches 0 outwards, or the last candidate."""
    inside = top
    for outside in outward:
        if drop(outside) >= 0.0:
            return float(brentq(drop, inside, outside, xtol=1e-2))
        inside = outside
    return inside
