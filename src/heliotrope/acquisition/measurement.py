"""An upper confidence bound based on how far one measurement can move the posterior mean.

Symbols
-------
s  deviation of f at a point        sigma^2  noise        g = s^2 / sqrt(s^2 + sigma^2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heliotrope.acquisition.schedules import Beta
from heliotrope.acquisition.ucb import UCB, Scored
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_positive


@register(former="MeasuredUCB")
@dataclass(frozen=True)
class MeasurementUCB(Scored):
    """Upper confidence bound of the next posterior mean: mean + sqrt(beta_t) g.

    g is the standard deviation of the change of the posterior mean at the point after a measurement
    there with noise variance ``noise``. Where f is unknown, g is the deviation of f, as in UCB.
    Where f is known as well as one measurement tells, g is smaller. This avoids needless
    exploration near a drifting maximum, whose value is never known exactly.

    Examples
    --------
    >>> MeasurementUCB(4.0, noise=0.75).value(1, np.array([0.0, 1.0]), np.array([0.5, 0.0]))
    array([0.5, 1. ])
    """

    beta: Beta
    noise: float

    def __init__(self, beta: Beta | float, noise: float) -> None:
        object.__setattr__(self, "beta", UCB(beta).beta)
        object.__setattr__(self, "noise", as_positive(noise, "noise"))

    def value(self, t: float, mean: Array, std: Array) -> Array:
        """Scores of points with these means and deviations at time t."""
        return UCB(self.beta).value(t, mean, std**2 / np.sqrt(std**2 + self.noise))

    def slopes(self, t: float, mean: Array, std: Array) -> tuple[Array, Array]:
        """Derivatives of the score by mean and by deviation: g' = s (s^2 + 2 sigma^2) / w^3."""
        by_mean, by_g = UCB(self.beta).slopes(t, mean, std)
        w = np.sqrt(std**2 + self.noise)
        return by_mean, by_g * std * (std**2 + 2.0 * self.noise) / w**3
