"""Drifting Gaussian processes with noise that is not the same everywhere."""

import numpy as np

from heliotrope.domains import Finite
from heliotrope.lab.environments.finite import MeasuredEpisode
from heliotrope.lab.environments.gp_drift import GPDrift
from heliotrope.priors import Prior, Static
from heliotrope.validation import Array, as_positive, as_whole

_FIELD = 7  # a separate random stream


class UnevenNoise:
    """The prior's drift; the noise variance differs between places by ``factor``.

    Its logarithm is a draw of the prior in space, scaled so that the variance reaches from
    noise / sqrt(factor) to noise sqrt(factor).

    Examples
    --------
    >>> import heliotrope as ht
    >>> world = UnevenNoise(ht.grid(9), ht.Prior(time=ht.Forgetting(0.01)), factor=100.0)
    >>> scales = world.scales(seed=0)
    >>> float(round((scales.max() / scales.min()) ** 2, 6))
    100.0
    """

    def __init__(self, domain: Finite, prior: Prior, factor: float) -> None:
        self._world, self.noise = GPDrift(domain, prior), prior.noise
        self._fields = GPDrift(domain, prior.with_time(Static()))
        self._factor = as_positive(factor, "factor")

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._world.domain

    def scales(self, seed: int) -> Array:
        """The noise deviation of each place over sqrt(noise), (M,)."""
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), _FIELD])
        drawn = self._fields.episode(1, int(rng.integers(2**31))).values[0]
        share = (drawn - drawn.min()) / np.ptp(drawn)
        return np.asarray(self._factor ** (0.5 * share - 0.25))

    def episode(self, horizon: int, seed: int) -> MeasuredEpisode:
        """Draw a world of ``horizon`` steps."""
        even = self._world.episode(horizon, seed)
        measured = even.values + even.noises[:, None] * self.scales(seed)
        return MeasuredEpisode(self.domain, even.values, even.noises, measured)


class Decades:
    """Positive values exp(s g), g the prior's drift, times noise with the expectation 1.

    s scales g: its four deviations from -2 to 2 are this many ``decades`` of the values. The
    noise factor is exp(e - noise / 2), where e has the prior's noise variance.

    Examples
    --------
    >>> import heliotrope as ht
    >>> world = Decades(ht.grid(9), ht.Prior(time=ht.Forgetting(0.01)), decades=3.0)
    >>> bool(world.episode(horizon=30, seed=0).values.min() > 0.0)
    True
    """

    def __init__(self, domain: Finite, prior: Prior, decades: float) -> None:
        self._world, self.noise = GPDrift(domain, prior), prior.noise
        self._slope = as_positive(decades, "decades") * np.log(10.0) / 4.0

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._world.domain

    def episode(self, horizon: int, seed: int) -> MeasuredEpisode:
        """Draw a world of ``horizon`` steps."""
        logarithms = self._world.episode(horizon, seed)
        values, noise = np.exp(self._slope * logarithms.values), logarithms.noises
        measured = values * np.exp(noise - 0.5 * self.noise)[:, None]
        return MeasuredEpisode(self.domain, values, noise, measured)
