"""What the world is made of, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import log, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from heliotrope.errors import InputError
from heliotrope.priors import Prior, noise_floor
from heliotrope.terms import Drifts, Level, Season, Stays, Term
from heliotrope.validation import Array, as_array, as_number, as_positive, as_whole
from heliotrope.warps import IDENTITY, Identity, Warp, warp_from_json

HARMONICS = 2  # of a season
_KEPT = 0.95  # correlation of a season with itself, one period later
_NEGLIGIBLE = 1e-3  # share of the variance below which a term is left out


@dataclass(frozen=True)
class World:
    """A sum of what stays, drifts, returns and is shared, over values or warped ones.

    ``mean_variance`` is the doubt about the mean, which all places share. ``stays``, ``drifts``,
    ``level`` and ``noise`` are variances, ``drift_rate`` and ``level_rate``
    the shares forgotten between two results, ``lengths`` the length scale of each coordinate of
    the unit cube. All of them describe the values after the ``warp``. ``results`` is the number of
    results that their spread was estimated from. ``season`` and ``shared_season`` are the variances
    of what returns after each ``period``, counted in results: in each place, and in all alike.
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

    def prior(self) -> Prior:
        """The prior; time is counted in results."""
        shape = Matern(self.lengths, nu=2.5)
        least = _NEGLIGIBLE * (self.stays + self.drifts + self.level)
        constant = Level(self.mean_variance, name="mean")
        terms: list[Term] = [Drifts(self.drifts * shape, self.drift_rate), constant]
        if self.stays > least:
            terms.append(Stays(self.stays * shape))
        if self.level > least:
            terms.append(Level(self.level, self.level_rate))
        forgets = season_rate(self.period)
        for kernel, variance in ((self.season * shape, self.season), (self.shared_season,) * 2):
            if variance > least:
                terms.append(Season(kernel, self.period, HARMONICS, forgets))
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
        if self.period:
            parts["season"] = self.season + self.shared_season
        return {name: part / sum(parts.values()) for name, part in parts.items()}

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "lengths": list(self.lengths), "warp": self.warp.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> World:
        """Read the output of :meth:`to_json`."""
        positive = ("mean_variance", "stays", "drifts", "level", "noise")
        numbers = {name: as_positive(data[name], name) for name in positive}
        for name in ("drift_rate", "level_rate"):
            numbers[name] = as_number(data[name], name)
            if not 0.0 <= numbers[name] < 1.0:
                raise InputError(f"a {name} from 0 to 1", repr(data[name])[:60])
        numbers["mean"] = as_number(data["mean"], "mean")
        warp = warp_from_json(data["warp"] if "warp" in data else _early_warp(data))
        lengths = tuple(as_array(data["lengths"], "lengths", ndim=1).tolist())
        results = as_whole(data["results"], "results", least=0)
        for name in ("season", "shared_season", "period"):  # early versions lack them
            numbers[name] = as_number(data.get(name, 0.0), name)
            if numbers[name] < 0.0:
                raise InputError(f"a {name} of at least 0", repr(data[name])[:60])
        return cls(**numbers, lengths=lengths, warp=warp, results=results)


def _early_warp(data: Mapping[str, Any]) -> dict[str, Any]:
    """The warp of an early version, which had a scale, a sign and a floor."""
    if data["scale"] == Identity.kind:
        return IDENTITY.to_json()
    return {"kind": data["scale"], "sign": data["sign"], "floor": data["floor"]}


def season_rate(period: float) -> float:
    """The share of a season that is forgotten per unit of time."""
    return 0.0 if period == 0.0 else -float(np.expm1(2.0 * log(_KEPT) / period))
