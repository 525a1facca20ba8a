"""A policy over the logarithms of values that all have one sign.

z = s log(s y) grows with y, where s is the sign of the values. The inner policy sees z. If z has
mean m and variance v, y = s exp(s z) has the mean s exp(s m + v / 2) and the variance
(exp(v) - 1) exp(2 s m + v).
"""

from dataclasses import dataclass
from math import inf, log

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.policies.gp import GPAgent, GPPolicy
from heliotrope.precision import USUAL, Precision
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import register
from heliotrope.validation import Array

_LARGEST = 115.0  # exponent whose fourth power does not overflow


@register
@dataclass(frozen=True, eq=False)
class LogarithmicPolicy:
    """A GP policy over s log(s y), s being ``sign``; values count as at least ``floor`` in size."""

    policy: GPPolicy
    sign: float
    floor: float

    @property
    def grows(self) -> bool:
        """Whether the state grows with every observation."""
        return self.policy.grows

    def inside(self, y: float) -> float:
        """The value z that the inner policy sees; infinite for an infinite y."""
        size = max(self.sign * y, self.floor)
        return self.sign * (inf if size == inf else log(size))

    def start(self, domain: Domain) -> "LogarithmicAgent":
        return LogarithmicAgent(self, domain)


class LogarithmicAgent:
    """The agent of the inner policy, which sees logarithms."""

    def __init__(self, policy: LogarithmicPolicy, domain: Domain) -> None:
        self._policy, self._sign = policy, policy.sign
        self._inner: GPAgent = policy.policy.start(domain)
        self.choose, self.choose_among = self._inner.choose, self._inner.choose_among
        self.best, self.best_among = self._inner.best, self._inner.best_among
        self.open, self.cancel = self._inner.open, self._inner.cancel
        self.state, self.restore = self._inner.state, self._inner.restore

    @property
    def doubted(self) -> set[int]:
        return self._inner.doubted

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        if precision.variance is not None:
            size = max(self._sign * y, self._policy.floor)
            precision = Precision(precision.variance / size**2, precision.repeats)
        self._inner.tell(key, self._policy.inside(y), precision)

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        mean, variance = self._inner.predict(t, places, count_open=count_open)
        size = np.exp(np.minimum(self._sign * mean + 0.5 * variance, _LARGEST))
        spread = np.expm1(np.minimum(variance, _LARGEST))
        return self._sign * size, spread * size**2

    def scores(self, t: float, places: Places, make_rng: RNGFactory) -> Array:
        """The scores of z as values, which have the same order."""
        z = self._sign * self._inner.scores(t, places, make_rng)
        return np.asarray(self._sign * np.exp(np.minimum(z, _LARGEST)))

    def covariance(self, t: float, places: Places) -> Array:
        """Cov[y_i, y_j] = E[y_i] E[y_j] (exp(Cov[z_i, z_j]) - 1)."""
        mean, _ = self.predict(t, places, count_open=False)
        joint = self._inner.covariance(t, places)
        return np.asarray(np.outer(mean, mean) * np.expm1(np.minimum(joint, _LARGEST)))

    @property
    def noise(self) -> float:
        """The noise variance at the prior mean of the values."""
        prior = self._policy.policy.prior
        center = self._sign * float(np.mean(prior.mean))
        return float(np.exp(min(2.0 * center, _LARGEST)) * np.expm1(min(prior.noise, _LARGEST)))

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        z = self._inner.sample(t, places, rng, size)
        return np.asarray(self._sign * np.exp(np.minimum(self._sign * z, _LARGEST)))

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood of the logarithms."""
        return self._inner.log_likelihood
