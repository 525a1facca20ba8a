"""A GP policy over warped values: the posterior describes z = w(y)."""

from dataclasses import dataclass

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.policies.gp import GPAgent, GPPolicy
from heliotrope.posterior import Accuracy
from heliotrope.precision import USUAL, Precision
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import register
from heliotrope.validation import Array
from heliotrope.warps import Warp


@register
@dataclass(frozen=True, eq=False)
class WarpedPolicy:
    """A GP policy over z = w(y); beliefs are in the unit of y."""

    policy: GPPolicy
    warp: Warp

    @property
    def grows(self) -> bool:
        """Whether the state grows with every observation."""
        return self.policy.grows

    def start(self, domain: Domain) -> "WarpedAgent":
        return WarpedAgent(self, domain)


class WarpedAgent:
    """The agent of the inner policy, which sees warped values."""

    def __init__(self, policy: WarpedPolicy, domain: Domain) -> None:
        self._policy, self.warp = policy, policy.warp
        self.inner: GPAgent = policy.policy.start(domain)
        self.choose, self.choose_among = self.inner.choose, self.inner.choose_among
        self.best, self.best_among = self.inner.best, self.inner.best_among
        self.open, self.cancel = self.inner.open, self.inner.cancel
        self.state, self.restore = self.inner.state, self.inner.restore

    @property
    def doubted(self) -> set[int]:
        return self.inner.doubted

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        if precision.variance is not None:
            steep = float(self.warp.slope(y)) ** 2
            precision = Precision(precision.variance * steep, precision.repeats)
        self.inner.tell(key, float(self.warp.inside(y)), precision)

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        return self.warp.moments(*self.inner.predict(t, places, count_open=count_open))

    def scores(self, t: float, places: Places, make_rng: RNGFactory) -> Array:
        """The scores of z as values, which have the same order."""
        return self.warp.outside(self.inner.scores(t, places, make_rng))

    def covariance(self, t: float, places: Places) -> Array:
        mean, _ = self.inner.predict(t, places, count_open=False)
        return self.warp.covariance(mean, self.inner.covariance(t, places))

    @property
    def noise(self) -> float:
        """The noise variance at the prior mean of the values."""
        prior = self._policy.policy.prior
        center, noise = np.array([np.mean(prior.mean)]), np.array([prior.noise])
        return float(self.warp.moments(center, noise)[1][0])

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        return self.warp.outside(self.inner.sample(t, places, rng, size))

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood of the warped values."""
        return self.inner.log_likelihood

    def accuracy(self) -> Accuracy:
        """That of the warped values; a narrow posterior has the same shares."""
        return self.inner.accuracy()
