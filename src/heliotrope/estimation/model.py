"""The model of a study's values: some parameters are given, the others estimated.

Values come in any unit, so the parameters are estimated from the results, at certain counts of
them. A study logs each new model as an event. Between two models the bank of engines learns the
drift at every result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import ceil
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from heliotrope.errors import InputError, located
from heliotrope.estimation.outliers import OutlierBounds
from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World
from heliotrope.priors import CANDIDATE_EPSILONS, Forgetting, Prior, noise_floor
from heliotrope.validation import as_number, as_positive

KernelName: TypeAlias = Literal["matern", "se"]
KERNEL_NAMES: tuple[KernelName, ...] = ("matern", "se")

_PLAIN_NOISE = 0.1  # of a model without an estimate, as a share of the variance
_LEAST_PART = 1e-6  # the same, of what stays and what all places share, where nothing does
_FASTEST = 1.0 - 1e-15  # drift per unit of time
_OFTEN, _RARELY = 4_012, 1_000  # up to the first count, a quarter more is less than the second
_EARLY = [1]  # counts of results after which to estimate again
while _EARLY[-1] < _OFTEN:
    _EARLY.append(ceil((1.5 if _EARLY[-1] < 140 else 1.25) * _EARLY[-1]))


@dataclass(frozen=True)
class Model:
    """Mean and variance of the values, noise variance, kernel with its length scale, and pace.

    The length scale is in the unit cube. ``pace`` is the usual time between two results, and sets
    the candidates for the drift. ``rate`` is the most likely drift between two results. ``world``
    is the sum of terms that ``auto`` uses. Other policies use one drifting term, and clip outliers:
    values below ``low`` or above ``high``.
    """

    mean: float = 0.0
    variance: float = 1.0
    noise: float = _PLAIN_NOISE
    kernel: KernelName = "matern"
    length_scale: float = 0.3
    pace: float = 1.0
    low: float | None = None
    high: float | None = None
    rate: float = 0.01
    world: World | None = None

    @classmethod
    def of_world(cls, world: World, pace: float) -> Model:
        """The model of a world, in the unit of the values, as one drifting term."""
        mean = float(world.warp.outside(world.mean))
        factor = float(world.warp.slope(mean)) ** -2
        variance, noise = factor * (world.stays + world.drifts), factor * world.noise
        length = float(np.exp(np.mean(np.log(world.lengths))))
        rate = world.drift_rate
        return cls(mean, variance, noise, "matern", length, pace, rate=rate, world=world)

    @classmethod
    def plain(cls, results: Results) -> Model:
        """The model of results without an estimate: their mean and spread, and a tenth of noise."""
        variance = results.spread**2
        mean = float(np.mean(results.precise))
        return cls(mean, variance, _PLAIN_NOISE * variance, pace=results.pace)

    @property
    def is_plain(self) -> bool:
        """Whether it was made without an estimate."""
        return self == Model(self.mean, self.variance, _PLAIN_NOISE * self.variance, pace=self.pace)

    @property
    def is_finite(self) -> bool:
        """Whether all its numbers are finite."""
        return bool(np.isfinite(_numbers(self.to_json())).all())

    def with_mean(self, mean: float) -> Model:
        """The model of values around another mean, without outliers."""
        world = None if self.world is None else self.world.with_mean(mean)
        return replace(self, mean=mean, low=None, high=None, world=world)

    def of_dimension(self, dimension: int) -> Model:
        """The same, with a length scale for each coordinate; options once had one in all."""
        if self.world is None or len(self.world.lengths) == dimension:
            return self
        first, *others = self.world.lengths
        lengths = (*(first for _ in range(dimension - len(others))), *others)
        return replace(self, world=replace(self.world, lengths=lengths))

    def signed(self, sign: float) -> Model:
        """The model of the values times a sign."""
        if sign > 0.0:
            return self
        bounds, world = self.outlier_bounds(sign), self.world and self.world.negated()
        return replace(self, mean=-self.mean, low=bounds.low, high=bounds.high, world=world)

    def as_world(self, dimension: int) -> World:
        """The world; without one, a world that drifts as a whole."""
        if self.world is not None:
            return self.world
        return World(
            mean=self.mean,
            mean_variance=self.variance,
            stays=_LEAST_PART * self.variance,
            drifts=self.variance,
            level=_LEAST_PART * self.variance,
            noise=self.noise,
            drift_rate=min(self.rate, _FASTEST),
            level_rate=0.0,
            lengths=(self.length_scale,) * dimension,
        )

    @property
    def epsilon(self) -> float:
        return self.per_unit(self.rate)

    def prior(self, epsilon: float, sign: float = 1.0) -> Prior:
        """The prior over the values times a sign."""
        is_se = self.kernel == "se"
        shape = RBF(self.length_scale) if is_se else Matern(self.length_scale, nu=2.5)
        noise = max(self.noise, noise_floor(self.variance))
        return Prior(self.variance * shape, Forgetting(epsilon), noise, sign * self.mean)

    def shares(self) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result."""
        if self.world is not None:
            return self.world.shares()
        noise = self.noise / (self.variance + self.noise)
        return {"drifts": 1.0 - noise, "noise": noise}

    def outlier_bounds(self, sign: float = 1.0) -> OutlierBounds:
        """The bounds of the values times a sign."""
        bounds = [None if bound is None else sign * bound for bound in (self.low, self.high)]
        return OutlierBounds(*(bounds if sign > 0.0 else reversed(bounds)))

    def epsilons(self) -> Sequence[float]:
        """Candidates for the drift per unit of time: the usual ones for one result each."""
        return sorted({self.per_unit(rate) for rate in CANDIDATE_EPSILONS})

    def per_unit(self, rate: float) -> float:
        """The drift per unit of time, from the drift between two results."""
        return min(-float(np.expm1(np.log1p(-min(rate, _FASTEST)) / self.pace)), _FASTEST)

    def per_result(self, epsilon: float) -> float:
        """The drift between two results, from the drift per unit of time."""
        if epsilon >= 1.0:
            return 1.0
        return -float(np.expm1(np.log1p(-epsilon) * self.pace))

    def to_json(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        del plain["world"]
        return plain if self.world is None else {**plain, "world": self.world.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Read the output of :meth:`to_json`; early versions lack bounds, rate and world."""
        given = Given(**{field.name: data[field.name] for field in fields(Given)})
        if not given.complete:
            raise InputError("a model with all its parameters", "a parameter that is null")
        low, high = (
            None if bound is None else as_number(bound, "a bound")
            for bound in (data.get("low"), data.get("high"))
        )
        rate = as_number(data.get("rate", cls.rate), "a rate")
        if not 0.0 <= rate <= 1.0:
            raise InputError("a rate from 0 to 1", repr(data["rate"])[:60])
        pace = as_positive(data["pace"], "pace")
        world = World.from_json(data["world"]) if "world" in data else None
        return given.override(cls(pace=pace, low=low, high=high, rate=rate, world=world))


@dataclass(frozen=True)
class Given:
    """Parameters that the user gave; None means that it is estimated.

    A length scale without a kernel is that of the Matern kernel.
    """

    mean: float | None = None
    variance: float | None = None
    noise: float | None = None
    kernel: KernelName | None = None
    length_scale: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "kernel" and value is not None:
                check = as_number if name == "mean" else as_positive
                with located(name):
                    object.__setattr__(self, name, check(value, name))
        if self.length_scale is not None and self.kernel is None:
            object.__setattr__(self, "kernel", "matern")
        if self.kernel not in (None, *KERNEL_NAMES):
            names = ", ".join(KERNEL_NAMES)
            raise InputError(f"one of {names}", repr(self.kernel)[:60], "", "kernel")

    @property
    def complete(self) -> bool:
        return None not in vars(self).values()

    def override(self, model: Model) -> Model:
        """The model with its estimates replaced by what the user gave."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(model, **known)


def _numbers(data: Any) -> list[float]:
    """The numbers in JSON."""
    if isinstance(data, Mapping):
        return [number for value in data.values() for number in _numbers(value)]
    if isinstance(data, list):
        return [number for value in data for number in _numbers(value)]
    return [data] if isinstance(data, (int, float)) else []


def is_estimate_due(told: int) -> bool:
    """Whether to estimate the model again after this many results.

    The count grows by half each time, from 140 on by a quarter, and by at most 1,000.

    Examples
    --------
    >>> [n for n in range(1000) if is_estimate_due(n)]
    [1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140, 175, 219, 274, 343, 429, 537, 672, 840]
    """
    return told in _EARLY if told <= _OFTEN else (told - _OFTEN) % _RARELY == 0
