"""Free parameters as one vector of coordinates to search over.

The coordinate of an epsilon is the logit of the share replaced in one step of the data, so that
the unit of time does not matter. Lengths, growths and the noise are searched by their logarithms.
Kernel parameters already are logarithms.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from heliotrope.errors import InputError
from heliotrope.estimation.data import Observations, Panel, spacing, spread
from heliotrope.estimation.parameters import (
    KINDS,
    FreeParameter,
    parameter_values,
    parameters,
    term_names,
    with_parameter_values,
)
from heliotrope.lazy import lazy_module
from heliotrope.priors import Prior
from heliotrope.validation import Array, short_repr

special = lazy_module("scipy.special")

FASTEST = 1.0 - 1e-9  # largest epsilon; beyond it 1 - epsilon is mostly rounding
_LEAST_SPACING = 0.05  # lower limit of the step, in units of time
_EPSILONS = (
    1e-7,
    1.0 - 1e-4,
)  # bounds per step; the bounds below are extended to include the prior
_START_EPSILONS = (1e-5, 0.999)
_NOISES = (1e-8, 10.0)  # shares of the data's variance
_VARIANCES = (1e-8, 1e4)  # likewise; large because a level may be far from the prior's mean
_LENGTHS = (0.1, 1e5)  # steps
_GROWTHS = (1e-8, 1e2)  # per step
_LOGARITHMIC = ("length", "growth", "noise")
_NOISE = 0.1  # share of the data's variance
_RATES = (0.001, 0.02, 0.3)  # further rates of the fastest term, per step
_RANGE = 3.0  # of random logarithms around the prior's


class Coordinates:
    """Coordinates of the parameters to learn: ``start`` (p,) of the prior, ``bounds`` (p, 2)."""

    def __init__(
        self, prior: Prior, data: list[Observations | Panel], learn: Iterable[str]
    ) -> None:
        self._prior, self._values, every = prior, parameter_values(prior), parameters(prior)
        names = _checked_names(prior, every, learn)
        self._free = np.array(
            [not names.isdisjoint((free.name, free.kind, free.term)) for free in every]
        )
        self.parameters = [every[i] for i in np.flatnonzero(self._free)]
        if not self.parameters:
            raise InputError(f"free parameters among {', '.join(names)}", f"none in {prior}")
        self.spread, self.spacing = spread(data), max(spacing(data), _LEAST_SPACING)
        self._is_epsilon = self.of_kind("epsilon")
        self._is_log = np.any([self.of_kind(kind) for kind in _LOGARITHMIC], axis=0)
        self.start = self._coordinates(self._values[self._free])
        self.bounds = np.array(list(map(self._limits, self.parameters, self.start.tolist())))

    def of_kind(self, kind: str) -> Any:
        """Which coordinates belong to parameters of a kind, (p,)."""
        return np.array([parameter.kind == kind for parameter in self.parameters])

    @property
    def are_variances(self) -> Any:
        """Which coordinates are the noise or a factor of a term's variance, (p,)."""
        return np.array([parameter.is_variance for parameter in self.parameters])

    def prior(self, u: Array) -> Prior:
        """The prior at some coordinates."""
        values = self._values.copy()
        values[self._free] = self.values(u)
        return with_parameter_values(self._prior, values)

    def values(self, u: Array) -> Array:
        """The parameters at some coordinates."""
        values, is_epsilon = np.where(self._is_log, np.exp(u * self._is_log), u), self._is_epsilon
        per_unit = -np.expm1(np.log1p(-special.expit(u[is_epsilon])) / self.spacing)
        values[is_epsilon] = np.minimum(per_unit, FASTEST)
        return np.asarray(values)

    def slopes(self, u: Array, gradient: Array) -> Array:
        """Derivatives by the coordinates, from those by all free parameters of the prior."""
        values = self.values(u)
        stretch = np.where(self._is_log, values, 1.0)
        epsilon = values[self._is_epsilon]
        stretch[self._is_epsilon] = (
            special.expit(u[self._is_epsilon]) * (1.0 - epsilon) / self.spacing
        )
        return np.asarray(gradient[self._free] * stretch)

    def at_bounds(self, u: Array) -> tuple[str, ...]:
        """The names of the parameters that are on a bound."""
        low, high = self.bounds.T
        slack = 1e-6 * (high - low)
        on = (u <= low + slack) | (u >= high - slack)
        return tuple(self.parameters[i].name for i in np.flatnonzero(on))

    def _coordinates(self, values: Array) -> Array:
        u = np.log(values, where=self._is_log, out=values.copy())
        log_kept = np.log1p(-np.minimum(values[self._is_epsilon], 1.0 - 1e-12))
        per_step = -np.expm1(self.spacing * log_kept)
        u[self._is_epsilon] = special.logit(np.clip(per_step, *_START_EPSILONS))
        return u

    def _limits(self, parameter: FreeParameter, start: float) -> tuple[float, float]:
        if parameter.bounds is not None:
            return parameter.bounds
        if parameter.kind == "epsilon":
            low, high = special.logit(_EPSILONS).tolist()
            return low, high
        scaled = {
            "noise": self.spread * np.array(_NOISES),
            "space": self.spread * np.array(_VARIANCES),
            "length": self.spacing * np.array(_LENGTHS),
            "growth": np.array(_GROWTHS) / self.spacing,
        }[parameter.kind]
        ends = [start, *np.log(scaled[scaled > 0.0]).tolist()]
        return min(ends), max(ends)


def _checked_names(prior: Prior, every: list[FreeParameter], learn: object) -> set[str]:
    several = np.iterable(learn) and not isinstance(learn, str)
    names: list[Any] = list(learn) if several else [learn]  # type: ignore[call-overload]
    allowed = [*KINDS, *prior.parts(), *(parameter.name for parameter in every)]
    if not names or any(name not in allowed for name in names):
        raise InputError(
            f"learn to contain names among {', '.join(allowed)}", short_repr(learn), "", "learn"
        )
    return set(names)


def noise_shifts(coordinates: Coordinates) -> list[Array]:
    """The prior's noise, and a tenth of the variance of the data."""
    own, is_noise = coordinates.start, coordinates.of_kind("noise")
    if not is_noise.any() or coordinates.spread == 0.0:
        return [np.zeros_like(own)]
    shift = np.log(_NOISE * coordinates.spread) - own
    return [np.zeros_like(own), np.where(is_noise, shift, 0.0)]


def rate_shifts(coordinates: Coordinates) -> list[Array]:
    """The prior's rates, and all of them faster or slower by the same factor."""
    own, step = coordinates.start, np.log(coordinates.spacing)
    faster = 1.0 * coordinates.of_kind("epsilon") + coordinates.of_kind("growth")
    faster -= coordinates.of_kind("length")
    if not faster.any():
        return [np.zeros_like(own)]
    per_step = faster * own + step * (faster != 0.0) * ~coordinates.of_kind("epsilon")
    fastest = per_step[faster != 0.0].max()
    return [np.zeros_like(own), *(faster * (special.logit(rate) - fastest) for rate in _RATES)]


def space_shifts(
    prior: Prior, coordinates: Coordinates, variances: Array, restarts: int
) -> list[Array]:
    """Shifts to the prior's kernels, to rescaled ones with permuted variances, and to random ones.

    ``variances`` are those of the terms, without the noise.
    """
    own, factors = coordinates.start, _factors(prior, coordinates)
    is_kernel = coordinates.of_kind("space") | coordinates.of_kind("time")
    shifts = [np.zeros_like(own)]
    if not is_kernel.any():
        return shifts
    if coordinates.spread > 0.0:
        exchanged = [np.roll(variances, places) for places in range(len(variances))]
        scale = coordinates.spread / variances.sum()
        shifts += [np.log(scale * order / variances) @ factors for order in exchanged]
    rng, center = np.random.default_rng(0), own + shifts[min(1, len(shifts) - 1)]
    low, high = np.clip([center - _RANGE, center + _RANGE], *coordinates.bounds.T)
    drawn = (rng.uniform(low, high) - own for _ in range(restarts))
    return shifts + [np.where(is_kernel, shift, 0.0) for shift in drawn]


def _factors(prior: Prior, coordinates: Coordinates) -> Array:
    """1 where a coordinate is a factor of a term's variance, else 0; (terms, p)."""
    of_term = [
        [parameter.name.startswith(f"{name}.") for parameter in coordinates.parameters]
        for name in term_names(prior)
    ]
    is_factor = coordinates.are_variances & ~coordinates.of_kind("noise")
    return np.asarray(np.array(of_term, dtype=float) * is_factor)
