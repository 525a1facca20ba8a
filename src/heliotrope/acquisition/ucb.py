"""Acquisitions that score a point by its posterior mean and deviation alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.acquisition.maximize import argmax, climb
from heliotrope.acquisition.schedules import Beta, as_beta
from heliotrope.domains import Box, Choices, Places
from heliotrope.errors import InputError
from heliotrope.posterior import Engine, Posterior, Surfaced
from heliotrope.posterior.mixture import bounding
from heliotrope.rng import Draw
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_number


@runtime_checkable
class Acquisition(Protocol):
    """How to choose by a posterior."""

    def choose(self, posterior: Engine, choices: Choices, t: float, draw: Draw) -> Places:
        """Return one place among the choices at time t."""


class Scored(ABC):
    """A score of mean and deviation; the place of the highest is chosen."""

    @abstractmethod
    def value(self, t: float, mean: Array, std: Array) -> Array:
        """Score of points with these means and deviations at time t."""

    @abstractmethod
    def slopes(self, t: float, mean: Array, std: Array) -> tuple[Array, Array]:
        """Derivatives of the score by mean and by deviation."""

    def choose(self, posterior: Posterior, choices: Choices, t: float, draw: Draw) -> Places:
        """Return the place of the highest score, open evaluations counted."""
        believed = bounding(posterior, t)
        if isinstance(choices, Box):
            assert isinstance(believed, Surfaced)
            return climb(believed.surface(t), self, t, choices, draw)[None, :]
        mean, variance = believed.predict(t, choices)
        return choices[[argmax(self.value(t, mean, np.sqrt(variance)), draw)]]


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
        """Score of points with these means and deviations at time t."""
        value = std * self._width(t)
        value += mean
        return value

    def slopes(self, t: float, mean: Array, std: Array) -> tuple[Array, Array]:
        """Derivatives of the score by mean and by deviation."""
        return np.ones_like(mean), np.full_like(std, self._width(t))

    def _width(self, t: float) -> float:
        beta = as_number(self.beta(t), "beta")
        if beta < 0.0:
            raise InputError("a schedule with beta_t of at least 0", f"{beta} at t = {t:g}")
        return sqrt(beta)
