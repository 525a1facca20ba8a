"""Acquisitions that score a point by its posterior mean and standard deviation."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.acquisition.maximize import argmax, maximize
from heliotrope.acquisition.schedules import Beta, as_beta
from heliotrope.domains import Box, Choices, Places
from heliotrope.errors import InputError
from heliotrope.posterior import Engine, HasSurface, Posterior
from heliotrope.posterior.mixture import for_acquisition
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import register
from heliotrope.terms import CHOICE
from heliotrope.validation import Array, as_number, as_positive


@runtime_checkable
class Acquisition(Protocol):
    """Chooses the next place from a posterior."""

    def choose(self, posterior: Engine, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return one place among the choices at time t."""


@runtime_checkable
class Scoring(Protocol):
    """An acquisition that gives a number to each place: the highest is the one to choose."""

    def scores(self, posterior: Engine, places: Places, t: float, make_rng: RNGFactory) -> Array:
        """Return the scores of places at time t, in the unit of the values."""


class Scored(ABC):
    """An acquisition that chooses the place with the highest score."""

    @abstractmethod
    def value(self, t: float, mean: Array, std: Array) -> Array:
        """Scores of points with these means and deviations at time t."""

    @abstractmethod
    def slopes(self, t: float, mean: Array, std: Array) -> tuple[Array, Array]:
        """Derivatives of the score by mean and by deviation."""

    def choose(
        self, posterior: Posterior, choices: Choices, t: float, make_rng: RNGFactory
    ) -> Places:
        """Return the place with the highest score; open evaluations shrink the deviation.

        Terms that all places share are left out, since they do not depend on the choice.
        """
        if isinstance(choices, Box):
            believed = for_acquisition(posterior, t)
            assert isinstance(believed, HasSurface)
            return maximize(believed.surface(t), self, t, choices, make_rng)[None, :]
        return choices[[argmax(self.scores(posterior, choices, t, make_rng), make_rng)]]

    def scores(self, posterior: Posterior, places: Places, t: float, make_rng: RNGFactory) -> Array:
        """Scores of places; open evaluations shrink the deviation."""
        mean, variance = for_acquisition(posterior, t).predict(t, places, part=CHOICE)
        return self.value(t, mean, np.sqrt(variance))


@register
@dataclass(frozen=True)
class UCB(Scored):
    """Upper confidence bound, mean + sqrt(beta_t) std (the argmax line of both algorithms).

    Examples
    --------
    >>> UCB(4.0).value(1, np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    array([2., 1.])
    """

    beta: Beta

    def __init__(self, beta: Beta | float) -> None:
        object.__setattr__(self, "beta", as_beta(beta))

    def value(self, t: float, mean: Array, std: Array) -> Array:
        value = std * self._width(t)
        value += mean
        return value

    def slopes(self, t: float, mean: Array, std: Array) -> tuple[Array, Array]:
        return np.ones_like(mean), np.full_like(std, self._width(t))

    def _width(self, t: float) -> float:
        beta = as_number(self.beta(t), "beta")
        if beta < 0.0:
            raise InputError("a schedule with beta_t >= 0", f"{beta} at t = {t:g}")
        return sqrt(beta)


@register
@dataclass(frozen=True)
class MeasurementUCB(Scored):
    """Upper confidence bound of the next posterior mean: mean + sqrt(beta_t) g.

    g = s^2 / sqrt(s^2 + sigma^2) is the standard deviation of the change of the posterior mean
    after a measurement at a point where f has the deviation s; sigma^2 is ``noise``. Where f is
    unknown, g is about s, as in UCB. Where f is known about as precisely as one measurement,
    g is smaller. This avoids needless exploration near a drifting maximum.

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
        return UCB(self.beta).value(t, mean, std**2 / np.sqrt(std**2 + self.noise))

    def slopes(self, t: float, mean: Array, std: Array) -> tuple[Array, Array]:
        """Derivatives of the score by mean and by deviation: g' = s (s^2 + 2 sigma^2) / w^3."""
        by_mean, by_g = UCB(self.beta).slopes(t, mean, std)
        w = np.sqrt(std**2 + self.noise)
        return by_mean, by_g * std * (std**2 + 2.0 * self.noise) / w**3
