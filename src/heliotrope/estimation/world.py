"""What the world is made of, in a few numbers, and which of them are held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import log, sqrt
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from heliotrope.errors import InputError, located
from heliotrope.kernels import RBF, Kernel, Matern
from heliotrope.priors import Prior, noise_floor
from heliotrope.terms import Drifts, Level, Season, Stays, Term
from heliotrope.validation import (
    Array,
    as_array,
    as_number,
    as_positive,
    as_share,
    as_whole,
    short_repr,
)
from heliotrope.warps import IDENTITY, Warp, warp_from_json

KernelName: TypeAlias = Literal["matern", "se"]
KERNEL_NAMES: tuple[KernelName, ...] = get_args(KernelName)
HARMONICS = 2  # of a season
INDEPENDENT = 1e-3  # length scale of coordinates whose points share nothing
_KEPT = 0.95  # correlation of a season with itself, one period later
_NEGLIGIBLE = 1e-3  # share of the variance below which a term is left out
_FASTEST = 1.0 - 1e-15  # drift per unit of time


@dataclass(frozen=True)
class World:
    """A sum of what stays, drifts, returns and is shared, over values or warped ones.

    ``mean_variance`` is the doubt about the mean, which all places share. ``stays``, ``drifts``,
    ``level`` and ``noise`` are variances, ``drift_rate`` and ``level_rate``
    the shares forgotten between two results, ``lengths`` the length scale of each coordinate of
    the unit cube, or one for all, ``kernel`` that of all places. All of them describe the values
    after the ``warp``. ``results`` is the number of results that their spread was estimated from.
    ``season`` and ``shared_season`` are the variances of what returns after each ``period``,
    counted in results: in each place, and in all alike.
    """

    mean: float
    mean_variance: float
    stays: float
    drifts: float
    level: float
    noise: float
    drift_rate: float
    level_rate: float
    lengths: tuple[float, ...]
    warp: Warp = IDENTITY
    results: int = 0
    season: float = 0.0
    shared_season: float = 0.0
    period: float = 0.0
    kernel: KernelName = "matern"

    @classmethod
    def of_one_term(
        cls,
        mean: float,
        variance: float,
        noise: float,
        rate: float,
        lengths: tuple[float, ...],
        kernel: KernelName = "matern",
    ) -> World:
        """A world that drifts as a whole."""
        return cls(mean, variance, 0.0, variance, 0.0, noise, rate, 0.0, lengths, kernel=kernel)

    @property
    def is_one_term(self) -> bool:
        """Whether it drifts, or stays, as a whole."""
        return not (self.stays or self.level or self.season or self.shared_season)

    @property
    def shape(self) -> Kernel:
        """The correlation between places."""
        lengths = self.lengths if len(self.lengths) > 1 else self.lengths[0]
        return RBF(lengths) if self.kernel == "se" else Matern(lengths, nu=2.5)

    def prior(self) -> Prior:
        """The prior; time is counted in results."""
        shape = self.shape
        least = _NEGLIGIBLE * (self.stays + self.drifts + self.level)
        constant = Level(self.mean_variance, name="mean")
        terms: list[Term] = [Drifts(self.drifts * shape, self.drift_rate), constant]
        if self.stays > least:
            terms.append(Stays(self.stays * shape))
        if self.level > least:
            terms.append(Level(self.level, self.level_rate))
        forgets = season_rate(self.period)
        if self.season > least:
            terms.append(Season(self.season * shape, self.period, HARMONICS, forgets))
        if self.shared_season > least:
            terms.append(Season(self.shared_season, self.period, HARMONICS, forgets))
        noise = max(self.noise, noise_floor(self.mean_variance + self.variance))
        return Prior(noise=noise, mean=self.mean, terms=terms)

    def in_season(self, lags: Array) -> Array:
        """The correlation of what returns with itself, some time later."""
        season = Season(1.0, self.period, HARMONICS, season_rate(self.period))
        return season.in_time(lags, np.zeros(1))

    @property
    def deviation(self) -> float:
        """The standard deviation of a result, around the mean."""
        return sqrt(self.variance + self.noise)

    @property
    def variance(self) -> float:
        """The variance of the function around its mean."""
        return self.stays + self.drifts + self.level + self.season + self.shared_season

    @property
    def renewal(self) -> float:
        """The share of what differs between places that is new at the next result."""
        return self.drift_rate * self.drifts / (self.stays + self.drifts + self.season)

    def with_mean(self, mean: float) -> World:
        """The same world around another mean, in the unit of the values."""
        return replace(self, mean=float(self.warp.inside(mean)))

    def unit_of(self, warp: Warp) -> float:
        """The factor of its deviations that gives those after another warp, near the mean."""
        mean = self.warp.outside(self.mean)
        return float(warp.slope(mean) / self.warp.slope(mean))

    def negated(self) -> World:
        """The same world for values with the opposite sign."""
        return replace(self, mean=-self.mean, warp=self.warp.negated())

    def shares(self) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result."""
        parts = {name: getattr(self, name) for name in ("stays", "drifts", "level", "noise")}
        parts["season"] = self.season + self.shared_season
        return {name: part / sum(parts.values()) for name, part in parts.items() if part}

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "lengths": list(self.lengths), "warp": self.warp.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> World:
        """Read the output of :meth:`to_json`."""
        numbers = {name: as_number(data[name], name) for name in _NUMBERS}
        for name in _POSITIVE:
            as_positive(numbers[name], name)
        for name in _NOT_NEGATIVE:
            if numbers[name] < 0.0:
                raise InputError(f"a {name} of at least 0", short_repr(data[name]))
        for name in ("drift_rate", "level_rate"):
            as_share(numbers[name], name, zero=True, one=True)
        warp = warp_from_json(data["warp"])
        lengths = tuple(as_array(data["lengths"], "lengths", ndim=1).tolist())
        results = as_whole(data["results"], "results", least=0)
        kernel = as_kernel(data["kernel"])
        return cls(**numbers, lengths=lengths, warp=warp, results=results, kernel=kernel)


_POSITIVE = ("mean_variance", "drifts", "noise")
_NOT_NEGATIVE = ("stays", "level", "season", "shared_season", "period")
_NUMBERS = ("mean", "drift_rate", "level_rate", *_POSITIVE, *_NOT_NEGATIVE)


@dataclass(frozen=True)
class OneTerm:
    """The structure of a named policy's world: one term, and the parameters that are held.

    ``mean``, ``variance`` and ``noise`` are in the unit of the values, ``epsilon`` per unit of
    time; None is estimated. ``length_scale``, in the unit cube, is that of all coordinates, or one
    for each. The first ``independent`` coordinates are those of options that share nothing.
    """

    mean: float | None = None
    variance: float | None = None
    noise: float | None = None
    kernel: KernelName | None = None
    length_scale: float | tuple[float, ...] | None = None
    epsilon: float | None = None
    independent: int = 0

    def __post_init__(self) -> None:
        for name, check in _HELD_NUMBERS.items():
            value = getattr(self, name)
            if value is not None:
                with located(name):
                    object.__setattr__(self, name, check(value, name))
        if self.kernel is not None:
            as_kernel(self.kernel)
        elif self.length_scale is not None:
            object.__setattr__(self, "kernel", KERNEL_NAMES[0])

    @property
    def has_several_lengths(self) -> bool:
        return self.independent > 0 or isinstance(self.length_scale, tuple)

    def length_at(self, coordinate: int) -> float | None:
        """The length scale of a coordinate that is held; None if it is estimated."""
        if coordinate < self.independent:
            return INDEPENDENT
        if isinstance(self.length_scale, tuple):
            return self.length_scale[coordinate - self.independent]
        return self.length_scale

    def on(self, world: World, pace: float) -> World:
        """A world of one term with the parameters that are held, for results a ``pace`` apart."""
        lengths = (self.length_at(i) or length for i, length in enumerate(world.lengths))
        held: dict[str, Any] = {
            "mean": self.mean,
            "drifts": self.variance,
            "noise": self.noise,
            "kernel": self.kernel,
            "drift_rate": None if self.epsilon is None else per_result(self.epsilon, pace),
            "lengths": tuple(lengths),
        }
        return replace(world, **{name: value for name, value in held.items() if value is not None})


def _as_lengths(value: Any, name: str) -> float | tuple[float, ...]:
    if isinstance(value, (list, tuple)) and value:
        return tuple(as_positive(length, name) for length in value)
    return as_positive(value, name)


_HELD_NUMBERS: Mapping[str, Callable[[Any, str], Any]] = {
    "mean": as_number,
    "variance": as_positive,
    "noise": as_positive,
    "length_scale": _as_lengths,
}


def as_kernel(name: Any) -> KernelName:
    """The name of a kernel; InputError for any other."""
    if name not in KERNEL_NAMES:
        raise InputError(f"one of {', '.join(KERNEL_NAMES)}", short_repr(name), "", "kernel")
    return name  # type: ignore[no-any-return]


def per_result(epsilon: float, pace: float) -> float:
    """The drift between two results, from the drift per unit of time."""
    if pace == 1.0:
        return epsilon
    return 1.0 if epsilon >= 1.0 else -float(np.expm1(np.log1p(-epsilon) * pace))


def per_unit(rate: float, pace: float) -> float:
    """The drift per unit of time, from the drift between two results."""
    return min(-float(np.expm1(np.log1p(-min(rate, _FASTEST)) / pace)), _FASTEST)


def decay(rate: float, lags: Array) -> Array:
    """The correlation over lags, counted in results, of what forgets at a rate."""
    return np.asarray(np.exp(0.5 * np.log1p(-min(rate, _FASTEST)) * lags))


def season_rate(period: float) -> float:
    """The share of a season that is forgotten per unit of time."""
    return 0.0 if period == 0.0 else -float(np.expm1(2.0 * log(_KEPT) / period))
