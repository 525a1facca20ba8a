"""Acquisitions that score places by posterior mean and deviation, and choose the highest score.

Upper confidence bounds weigh the deviation by a schedule beta_t >= 0. Its t is the suggestion's
time: 1, 2, 3, ... for the paper's steps, also across R-GP-UCB's restarts. Over a Finite domain all
places are compared; over a Box the maximum is found by gradient ascent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from math import log, pi, sqrt
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Box, Choices, Places
from heliotrope.errors import InputError
from heliotrope.lazy import lazy_module
from heliotrope.linalg import one_thread
from heliotrope.posterior import Engine, HasSurface, Posterior, Surface
from heliotrope.posterior.spacetime import for_acquisition
from heliotrope.serialization.codec import register
from heliotrope.sobol import sobol
from heliotrope.surroundings import RNGFactory
from heliotrope.terms import CHOICE
from heliotrope.validation import (
    Array,
    Checked,
    as_number,
    as_positive,
    as_share,
    as_whole,
    checked,
)

optimize = lazy_module("scipy.optimize")
_TIE = 1e-12  # values this close, relative to their spread, are equal
_ULPS = 4.0 * float(np.finfo(float).eps)
_CANDIDATES = 512
_ANCHORS = 8  # visited points near the maximum: half of them the best, half the newest
_NEIGHBOURS = 8  # candidates around each of them
_STARTS = 6
_APART = 0.1  # share of the box's width
_LEAST_VARIANCE = 1e-16  # below it the deviation has no usable slope


@runtime_checkable
class Beta(Protocol):
    """A schedule of beta."""

    def __call__(self, t: float) -> float:
        """Return beta_t >= 0."""


@register
@dataclass(frozen=True)
class ConstantBeta:
    """The same beta at all times, for functions that keep changing."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value, "beta"))
        if self.value < 0.0:
            raise InputError("beta of at least 0", repr(self.value))

    def __call__(self, t: float) -> float:
        return self.value


@register
@dataclass(frozen=True)
class LogBeta(Checked):
    """The paper's practical schedule, beta_t = c1 log(c2 t), clipped at 0.

    Examples
    --------
    >>> LogBeta(0.8, 4.0)(1)
    1.1090354888959124
    >>> LogBeta(0.8, 0.4)(2)
    0.0
    """

    c1: float = field(default=0.8, metadata=checked(as_positive))
    c2: float = field(default=4.0, metadata=checked(as_positive))

    def __call__(self, t: float) -> float:
        return self.c1 * log(self.c2 * t) if self.c2 * t > 1.0 else 0.0


@dataclass(frozen=True)
class _TheoremBeta(Checked):
    """beta_t for which ``_events`` events hold jointly with probability 1 - delta.

    With pi_t = pi^2 t^2 / 6 and rounds = events pi_t / delta: 2 log(rounds) + 2 d log(tau_t),
    tau_t = r d b t^2 sqrt(log(d a rounds)). tau_t is the number of discretization points per
    coordinate, so it is at least 1. Before the first step beta is 0.
    """

    delta: float = field(default=0.1, metadata=checked(as_share))
    dimension: int = field(default=1, metadata=checked(as_whole, least=1))
    r: float = field(default=1.0, metadata=checked(as_positive))
    a: float = field(default=1.0, metadata=checked(as_positive))
    b: float = field(default=1.0, metadata=checked(as_positive))
    _events: ClassVar[int]

    def __call__(self, t: float) -> float:
        """Return beta_t, computed in logarithms to avoid overflow."""
        if t <= 0.0:
            return 0.0
        d, steps = self.dimension, 2.0 * log(t)
        log_rounds = log(self._events * pi**2 / 6.0) - log(self.delta) + steps
        spread = log(d * self.a) + log_rounds
        log_tau = log(self.r * self.b * d) + steps + 0.5 * log(spread) if spread > 0.0 else 0.0
        return max(2.0 * log_rounds + 2.0 * d * max(log_tau, 0.0), 0.0)


@register
@dataclass(frozen=True)
class TVBeta(_TheoremBeta):
    """The schedule of Theorem thm:general (eq:beta_T), for which TV-GP-UCB's bound holds.

    Parameters
    ----------
    delta
        Probability with which the bound may fail.
    dimension, r
        The domain lies in [0, r]^dimension.
    a, b
        The constants of the kernel's derivatives (eq:k_deriv1).
    """

    _events: ClassVar[int] = 3


@register
@dataclass(frozen=True)
class RBeta(_TheoremBeta):
    """The schedule of Theorem thm:general_R (eq:beta_T_R), for R-GP-UCB; parameters as TVBeta."""

    _events: ClassVar[int] = 4


@register
@dataclass(frozen=True)
class FiniteBeta(Checked):
    """The schedule for a Finite domain (Srinivas et al. 2012): 2 log(points pi^2 t^2 / (6 delta)).

    The confidence intervals of all points at times 1, 2, 3, ... hold jointly with probability
    1 - delta. The kernel needs no constants.

    Examples
    --------
    >>> round(FiniteBeta(points=2500, delta=0.1)(1), 2)
    21.25
    """

    points: int = field(metadata=checked(as_whole, least=1))
    delta: float = field(default=0.1, metadata=checked(as_share))

    def __call__(self, t: float) -> float:
        if t <= 0.0:
            return 0.0
        log_rounds = log(pi**2 / 6.0) + 2.0 * log(t) - log(self.delta)
        return max(2.0 * (log(self.points) + log_rounds), 0.0)


def as_beta(beta: Beta | float) -> Beta:
    """Return a schedule; a number means a constant one."""
    if isinstance(beta, (ConstantBeta, LogBeta, Beta)):  # the protocol last, as its check is slow
        return beta
    return ConstantBeta(as_number(beta, "beta"))


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


def argmax(values: Array, make_rng: RNGFactory) -> int:
    """Index of the largest value; the generator breaks ties.

    Examples
    --------
    >>> argmax(np.array([0.0, 2.0, 1.0]), np.random.default_rng)
    1
    """
    best = int(values.argmax())
    top = float(values[best])
    tied = values >= top - _TIE * (top - float(values.min())) - _ULPS * abs(top)
    return best if np.count_nonzero(tied) == 1 else int(make_rng().choice(np.flatnonzero(tied)))


@one_thread()
def maximize(
    surface: Surface, acquisition: Scored, t: float, box: Box, make_rng: RNGFactory
) -> Array:
    """Return the point of the box with the highest score found, (d,).

    The candidates, all on the box's lattices, are Sobol points and promising visited points with
    neighbours. L-BFGS-B then improves the best few distant ones jointly, along the continuous
    coordinates and in units of the unit cube.
    """
    rng = make_rng()

    def score(unit: Array) -> Array:
        mean, variance = surface.value(box.scaled(unit))
        return acquisition.value(t, mean, np.sqrt(variance))

    tried = box.unit(candidates(box, rng, surface))
    values = score(tried)
    starts = _apart(tried, values)
    top, scale = float(values.max()), float(np.ptp(values)) or 1.0

    def descent(flat: Array) -> tuple[float, Array]:
        """Return the negative sum of all scores and its gradient, in units of their spread."""
        points = box.scaled(flat.reshape(-1, box.dimension))
        mean, variance = surface.value(points)
        std = np.sqrt(np.maximum(variance, _LEAST_VARIANCE * scale**2))
        by_mean, by_std = acquisition.slopes(t, mean, std)
        d_mean, d_variance = surface.gradient(points)
        slope = by_mean[:, None] * d_mean + (by_std / (2.0 * std))[:, None] * d_variance
        value = float((acquisition.value(t, mean, std) - top).sum())
        return -value / scale, -(slope * (box.upper - box.lower)).ravel() / scale

    if box.continuous.any():
        low, high = np.where(box.continuous, 0.0, starts), np.where(box.continuous, 1.0, starts)
        bounds = np.column_stack([low.ravel(), high.ravel()])
        optimum = optimize.minimize(
            descent, starts.ravel(), jac=True, bounds=bounds, method="L-BFGS-B"
        )
        tried = np.vstack([starts, optimum.x.reshape(starts.shape)])
        values = score(tried)
    unit = tried[argmax(values, lambda: rng)]
    point: Array = box.snap(box.scaled(unit)[None, :])[0]  # removes rounding errors on lattices
    return point


def candidates(box: Box, rng: np.random.Generator, surface: Surface) -> Array:
    """Randomly shifted Sobol points, and promising points with neighbours, on the lattices."""
    d, anchors = box.dimension, box.unit(surface.promising_points(_ANCHORS))
    spread = (_sobol(d) + rng.random(d)) % 1.0
    steps = rng.standard_normal((len(anchors), _NEIGHBOURS, d))
    steps *= rng.choice([0.003, 0.01, 0.03, 0.1], size=(len(anchors), _NEIGHBOURS, 1))
    near = (anchors[:, None, :] + steps).reshape(-1, d)
    everything = [spread, anchors, np.clip(near, 0.0, 1.0), *_leaps(box, rng, anchors)]
    return box.snap(box.scaled(np.vstack(everything)))


def _leaps(box: Box, rng: np.random.Generator, anchors: Array) -> list[Array]:
    """Anchors moved to a random row of one lattice."""
    if not box.lattices:
        return []
    leaps = np.repeat(anchors, _NEIGHBOURS, axis=0)
    for leap, which in zip(leaps, rng.integers(len(box.lattices), size=len(leaps)), strict=True):
        lattice = box.lattices[which]
        columns = list(lattice.columns)
        row = lattice.rows[rng.integers(len(lattice.rows))]
        leap[columns] = (row - box.lower[columns]) / (box.upper[columns] - box.lower[columns])
    return [leaps]


def _apart(candidates: Array, values: Array) -> Array:
    """Return the best candidates of which no two are close to each other."""
    chosen, left = list[Array](), candidates[np.argsort(-values, kind="stable")]
    while len(left) and len(chosen) < _STARTS:
        chosen.append(left[0])
        left = left[np.abs(left - left[0]).max(axis=1) > _APART]
    return np.array(chosen)


@cache
def _sobol(dimension: int) -> Array:
    return sobol(dimension, _CANDIDATES)
