"""What similar studies have learned, as results with doubt, from which a new one starts.

Symbols
-------
q  points with values m (q,) and variances v (q,), which are those between the studies
n  results of this study: the first one at each place
d  shift of the level of this study; its prior variance is that of the levels of the studies
c  factor of all variances, at least 1: how far the results lie from m + d
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from heliotrope.domains import Box, Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.lazy import lazy_module
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, Json, as_array, as_positive, as_whole

distance = lazy_module("scipy.spatial.distance")

_TRUST = 2.0  # results' worth of belief that the studies are alike
_FARTHEST = 6.0  # deviations that count: a fault must not refute the fleet
_MOST = 100  # results of this study, after which it knows more than the fleet
_ARRAYS = ("places", "values", "variances")
_LEAST = 1e-3  # weight of a point about which a study knows nothing
_PRIOR = 1.0  # studies' worth of belief that a point is like all others


@register
@dataclass(frozen=True, eq=False)
class Fleet:
    """Places (q,) or (q, d), values (q,) and variances (q,) that similar studies suggest.

    ``level_variance`` is the variance of their levels, ``model`` their model as JSON text.
    """

    places: Places
    values: Array
    variances: Array
    level_variance: float
    model: str

    @cached_property
    def start(self) -> Model:
        """The model before the first result."""
        return Model.from_json(json.loads(self.model))

    def to_json(self) -> Json:
        """The fleet in the configuration of a study."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {**arrays, "level_variance": self.level_variance, "model": json.loads(self.model)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], domain: Domain) -> Fleet:
        """Read the output of :meth:`to_json`, for a study over a domain."""
        if isinstance(domain, Box):
            places: Places = domain.places(data["places"])
        else:
            places = _indices(data["places"], domain)
        values, variances = (as_array(data[name], name, ndim=1) for name in _ARRAYS[1:])
        if not len(places) == len(values) == len(variances) or not np.all(variances > 0.0):
            raise InputError("a value and a positive variance for each place", "others")
        level_variance = as_positive(data["level_variance"], "level_variance")
        model = Model.from_json(data["model"])
        if len(model.world.lengths) != domain.dimension:
            raise InputError("a model with a length scale for each coordinate", "another one")
        return cls(places, values, variances, level_variance, json.dumps(model.to_json()))

    def counts(self, told: int) -> bool:
        """Whether a study has so few results that the fleet tells it something."""
        return told <= _MOST

    def negated(self) -> Fleet:
        """The same for values with the opposite sign."""
        model = json.dumps(self.start.signed(-1.0).to_json())
        return replace(self, values=-self.values, model=model)

    def adjusted(self, points: Array, x: Array, y: Array, model: Model) -> tuple[Array, Array]:
        """Values and variances (q,) at the fleet's points (q, d), given results x (n, d), y (n,).

        A result that contradicts the fleet makes all of its values less certain.
        """
        expected, doubt = self._expected(points, x, model)
        precision, prior = 1.0 / (doubt + model.noise), 1.0 / self.level_variance
        total = float(precision.sum()) + prior
        d = float(precision @ (y - expected)) / total
        z = np.minimum(np.abs(y - expected - d) * np.sqrt(precision), _FARTHEST)
        c = max(1.0, (_TRUST + float(z @ z)) / (_TRUST + len(z)))
        return self.values + d, c * self.variances + 1.0 / total

    def _expected(self, points: Array, x: Array, model: Model) -> tuple[Array, Array]:
        """The fleet's values and variances at points x, each from its nearest point."""
        if not len(x):
            return np.empty(0), np.empty(0)
        lengths = np.array(model.world.lengths)
        away = distance.cdist(x / lengths, points / lengths)
        nearest = away.argmin(axis=1)
        r = np.sqrt(5.0) * away.min(axis=1)
        k = (1.0 + r + r**2 / 3.0) * np.exp(-r)
        return self.values[nearest], self.variances[nearest] + model.variance * (1.0 - k**2)


def _indices(places: Sequence[Any], domain: Finite) -> Places:
    return domain.check(np.array([as_whole(place, "a place", least=0) for place in places]))


def pooled(
    means: Sequence[Array], variances: Sequence[Array], unknown: Sequence[float]
) -> tuple[Array, Array, float]:
    """Values and variances (q,) at the points of several studies, and the variance of their levels.

    Each study has posterior means (q,) and variances (q,), NaN at points that it does not have, and
    the prior variance of a point that it knows nothing about. A point counts by how much the
    study knows about it.
    """
    m, v = np.array(means), np.array(variances)
    knows = np.nan_to_num(1.0 - v / np.array(unknown)[:, None]).clip(_LEAST, 1.0)
    knows[np.isnan(m)] = 0.0
    levels = np.average(np.nan_to_num(m), axis=1, weights=knows)
    shapes = np.nan_to_num(m - levels[:, None])
    spread = float(np.average(np.square(shapes), weights=knows))
    total = knows.sum(axis=0) + _PRIOR
    shape = (knows * shapes).sum(axis=0) / total
    squares = (knows * np.square(shapes - shape)).sum(axis=0)
    between = (squares + _PRIOR * spread) / total
    level_variance = float(np.var(levels)) + spread
    return float(np.mean(levels)) + shape, between * (1.0 + 1.0 / total), level_variance
