"""The drift rate of a log: how fast what is known of its places goes stale.

Each place is its own mean, plus the paper's f_t, plus noise. All places share epsilon; means,
variances and noises are unknown, one each. A place's likelihood is the restricted one (of what is
left once the mean is estimated), because a mean taken off beforehand takes drift with it. Places
that move together say the same thing, so the sum over them counts as that of as many places as
independent ones would be worth.

Symbols
-------
T, M   times, places           Y (T, M)  values, deviations around 0 of size 1; NaN is a gap
R      candidate noises        r (R, 1)  noise over signal variance
rho    (T,) correlation with the time before, 0 at the first
a, b   means of f_t by what was seen, where the values are Y, and where all are 1;  C its variance
v, u   surprises of Y and of the ones;  S their variance, in units of the signal's
"""

from __future__ import annotations

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
_LATEST, _MOST = 2000, 50  # rows and places that are enough
_LEAST = 3  # values of a place: two tell its mean and its variance
_ROUNDING = 1e-14
_FALL = float(np.sqrt(chi2.ppf(0.95, df=1) / 2.0))  # root of the log likelihood's, at the ends


@dataclass(frozen=True)
class Drift:
    """The most likely epsilon, a unit of time, and the 95 % interval of its likelihood."""

    epsilon: float
    interval: tuple[float, float]

    @property
    def half_life(self) -> float:
        """Units of time after which half of what was learned is stale."""
        return half_life(self.epsilon)


def half_life(epsilon: float) -> float:
    """Units of time n with (1 - epsilon)^n = 1/2: what is left of the variance explained.

    Examples
    --------
    >>> half_life(0.5)
    1.0
    """
    return float(np.log(0.5) / np.log1p(-epsilon))


def drift_rate(times: Array, values: Array) -> Drift:
    """Learn epsilon from the latest of rising times (T,) and values (T, M), NaN in gaps."""
    latest = values[-_LATEST:]
    Y = _standardized(latest[:, _telling(latest)])
    profile = _Profile(times[-_LATEST:], Y)
    value = cache(profile.value)
    top = _top(value)
    worth = _worth(Y, profile.noise_shares(top)) / len(Y.T)

    def fall(rate: float) -> float:
        return float(np.sqrt(worth * max(value(top) - value(rate), 0.0))) - _FALL

    low = _crossing(fall, top, [rate for rate in reversed(_RATES) if rate < top])
    high = _crossing(fall, top, [rate for rate in _RATES if rate > top])
    return Drift(float(expit(top)), (float(expit(low)), float(expit(high))))


def _telling(values: Array) -> Indices:
    """Some of the columns in which three values or more differ: no others tell of drift."""
    seen = ~np.isnan(values)
    lowest = np.where(seen, values, np.inf).min(axis=0)
    highest = np.where(seen, values, -np.inf).max(axis=0)
    telling = np.flatnonzero((seen.sum(axis=0) >= _LEAST) & (highest > lowest))
    if not len(telling):
        expected = f"a place of {_LEAST} values or more that change"
        raise InputError(f"{expected}, among the rows to learn from", "none", "Train on more.")
    some: Indices = np.linspace(0, len(telling) - 1, min(len(telling), _MOST)).astype(int)
    return telling[some]


def _standardized(values: Array) -> Array:
    centred = values - np.nanmean(values, axis=0)
    centred /= np.nanmax(np.abs(centred), axis=0)  # whose squares can be taken
    return np.asarray(centred / np.nanstd(centred, axis=0))


@dataclass(frozen=True, eq=False)
class _Profile:
    """Log likelihood by the logit of epsilon, all else at its best."""

    times: Array
    Y: Array

    def value(self, rate: float) -> float:
        """Sum over the places."""
        return float(_peaks(self._by_ratio(rate))[1].sum())

    def noise_shares(self, rate: float) -> Array:
        """Share of noise in each place's variance, (M,)."""
        at, _ = _peaks(self._by_ratio(rate))
        return np.asarray(expit(np.interp(at, np.arange(len(_RATIOS)), np.log(_RATIOS))))

    def _by_ratio(self, rate: float) -> Array:
        rho = np.exp(0.5 * np.diff(self.times) * np.log1p(-expit(rate)))
        return _restricted(np.concatenate([[0.0], rho]), self.Y)


def _restricted(rho: Array, Y: Array) -> Array:
    """Restricted log likelihood (R, M) of each place at each ratio, the variance at its best.

    Without gaps all that does not depend on Y is the same for all places, and kept as (R, 1).
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
    """Where columns (R, M) have their tops, between the rows by a parabola, and how high."""
    columns = np.arange(values.shape[1])
    at = values.argmax(axis=0).clip(1, len(values) - 2)
    before, here, after = (values[at + step, columns] for step in (-1, 0, 1))
    slope, bend = 0.5 * (after - before), before - 2.0 * here + after
    by = np.clip(-slope / np.minimum(bend, -1e-12), -1.0, 1.0)
    return at + by, np.maximum(here + slope * by + 0.5 * bend * by**2, values.max(axis=0))


def _worth(Y: Array, noise_shares: Array) -> float:
    """How many independent places M correlated ones are worth: M^2 / sum of c_ij^2.

    c is the correlation of the functions, which is that of the values without their noise.
    """
    seen = ~np.isnan(Y)
    filled = np.where(seen, Y, 0.0)
    together = np.maximum(seen.astype(float).T @ seen, 1.0)
    signal = np.sqrt(1.0 - noise_shares)
    c = np.clip(filled.T @ filled / together / np.outer(signal, signal), -1.0, 1.0)
    np.fill_diagonal(c, 1.0)
    return len(c) ** 2 / float(np.sum(c**2))


def _top(value: Callable[[float], float]) -> float:
    """Where a function of the rate is highest: the best of the candidates, then between them."""
    best = int(np.argmax([value(rate) for rate in _RATES]))
    around = _RATES[max(best - 1, 0)], _RATES[min(best + 1, len(_RATES) - 1)]
    found = minimize_scalar(
        lambda rate: -value(rate), bounds=around, method="bounded", options={"xatol": 2e-3}
    )
    return float(found.x)


def _crossing(fall: Callable[[float], float], top: float, outward: Sequence[float]) -> float:
    """Where a fall that is negative at the top reaches 0 on the way out; the end if nowhere."""
    inside = top
    for outside in outward:
        if fall(outside) >= 0.0:
            return float(brentq(fall, inside, outside, xtol=1e-2))
        inside = outside
    return inside
