"""Thompson sampling: choose the maximum of one sample of f_t from the posterior.

Symbols
-------
q   places        P   r of them, the pivots, which explain nearly all variance at the others
R   (r, q) rows whose R^T R is the posterior covariance, up to a remainder on its diagonal
z   (r,) standard normal, so that m + z R is a sample
"""

from dataclasses import dataclass

import numpy as np

from heliotrope.acquisition.scored import argmax, candidates
from heliotrope.domains import Box, Choices, Places, are_indices
from heliotrope.linalg import one_thread, pivoted_rows, solve_lower
from heliotrope.posterior import Engine, HasSurface, Posterior, Sampleable
from heliotrope.posterior.mixture import MixtureEngine
from heliotrope.serialization.codec import register
from heliotrope.surroundings import RNGFactory
from heliotrope.terms import CHOICE
from heliotrope.validation import Array

_LEFT = 1e-4  # share of the largest variance that may be sampled independently at each place
_MOST = 512  # largest number of pivots, which bounds the cost of a sample
_ROUNDS, _NEIGHBOURS = 2, 64  # of the search around the best
_RADII = (0.03, 0.01, 0.003)  # shares of the box's width


@register
@dataclass(frozen=True)
class Thompson:
    """Sample f_t jointly from the posterior given all observations, and choose its maximum.

    The sample depends on the suggestion's own random stream, so asking again gives the same point.
    Open evaluations are ignored: suggestions differ because their samples do.
    """

    def choose(self, posterior: Engine, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return the place of the sample's maximum; of a mixture, one member is sampled first."""
        rng = make_rng()
        with one_thread():
            if isinstance(choices, Box):
                return _best_in_box(_member(posterior, t, rng), choices, t, rng)[None, :]
            values = _sampled(_member(posterior, t, rng), t, choices, rng)
        return choices[[argmax(values, lambda: rng)]]

    def scores(self, posterior: Engine, places: Places, t: float, make_rng: RNGFactory) -> Array:
        """The sample at places."""
        rng = make_rng()
        with one_thread():
            return _sampled(_member(posterior, t, rng), t, places, rng)


def _member(posterior: Posterior, t: float, rng: np.random.Generator) -> Posterior:
    """A posterior that is no mixture."""
    while isinstance(posterior, MixtureEngine):
        posterior = posterior.component(t, rng)
    return posterior


def _sampled(engine: Posterior, t: float, places: Places, rng: np.random.Generator) -> Array:
    """A sample of f_t at places."""
    if isinstance(engine, Sampleable) and are_indices(places):
        return engine.sample_path(t, rng)[places]
    return _Path(engine, t, places, rng).values


class _Path:
    """A sample of f_t at given places, interpolated between them in a box."""

    def __init__(self, engine: Posterior, t: float, X: Places, rng: np.random.Generator) -> None:
        self._engine, self._t = engine, t
        mean, variance = engine.predict(t, X, count_open=False, part=CHOICE)
        covariance = engine.covariance(t, X, part=CHOICE)
        tolerance = _LEFT * float(variance.max())
        pivots, R, left = pivoted_rows(lambda i: covariance[i], variance, tolerance, _MOST)
        z, rest = rng.standard_normal(len(R)), rng.standard_normal(len(mean))
        self.values: Array = mean + z @ R + rest * np.sqrt(left)
        self._P = X[pivots]
        self._weights = solve_lower(R[:, pivots].T, z, transposed=True)

    def __call__(self, X: Array) -> Array:
        """The sample at X (q, d): its mean given the values at the pivots."""
        mean, _ = self._engine.predict(self._t, X, count_open=False, part=CHOICE)
        joint = self._engine.covariance(self._t, np.concatenate([X, self._P]), part=CHOICE)
        value: Array = mean + joint[: len(X), len(X) :] @ self._weights
        return value


def _best_in_box(engine: Posterior, box: Box, t: float, rng: np.random.Generator) -> Array:
    """Maximum of a sample over candidates, then over neighbours of the best."""
    assert isinstance(engine, HasSurface)
    X = candidates(box, rng, engine.surface(t))
    path = _Path(engine, t, X, rng)
    best: Array = X[path.values.argmax()]
    value = float(path.values.max())
    for _ in range(_ROUNDS):
        steps = rng.standard_normal((_NEIGHBOURS, box.dimension)) * (box.upper - box.lower)
        steps *= rng.choice(_RADII, size=(_NEIGHBOURS, 1))
        near = box.snap(np.clip(best + steps, box.lower, box.upper))
        values = path(near)
        if values.max() > value:
            best, value = near[values.argmax()], float(values.max())
    return best
