"""What a study believes of its values: parameters that were given, the others learned.

Values come in any unit, so the parameters are estimated from what was told, at certain counts of
results. Each change is an event of the log, so that the log alone says what was believed when;
between them the bank of engines learns the drift at every result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, log, sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from heliotrope.errors import InputError, located
from heliotrope.estimation.outliers import Fences
from heliotrope.priors import DRIFTS, Forgetting, Prior
from heliotrope.validation import as_number, as_positive

KernelName: TypeAlias = Literal["matern", "se"]
KERNELS: tuple[KernelName, ...] = ("matern", "se")
INDEPENDENT = 1e-3  # length scale under which whole numbers share nothing

_LEAST_NOISE = 1e-4  # share of the variance
_SHIFT, _LARGER, _FASTER, _STILL = 0.1, 1.25, 2.0, 1e-6  # what is but a little
_FASTEST = 1.0 - 1e-15  # drift in a unit of time
_OFTEN, _RARELY = 4_012, 1_000  # results up to which a quarter more is less than every so many


def _rising() -> Iterator[int]:
    count = 1
    while count <= _OFTEN:
        yield count
        count = ceil((1.5 if count < 140 else 1.25) * count)


_EARLY = frozenset(_rising())


@dataclass(frozen=True)
class Model:
    """Mean and variance of the values, noise variance, kernel with its length scale, and pace.

    Length scales are those of the unit cube. ``pace`` is the usual time between two results, by
    which the candidates for the drift are chosen, and ``rate`` the likeliest drift between two.
    Values below ``low`` or above ``high`` are outliers, believed to lie there.
    """

    mean: float = 0.0
    variance: float = 1.0
    noise: float = 0.1
    kernel: KernelName = "matern"
    length_scale: float = 0.3
    pace: float = 1.0
    low: float | None = None
    high: float | None = None
    rate: float = 0.01

    @property
    def fences(self) -> Fences:
        """Between which values are believed."""
        return Fences(self.low, self.high)

    @property
    def epsilon(self) -> float:
        """The likeliest drift in a unit of time."""
        return self.a_unit(self.rate)

    def prior(self, epsilon: float, sign: float = 1.0) -> Prior:
        """The prior over values that are multiplied with a sign."""
        shape = RBF if self.kernel == "se" else Matern
        smoothness = {} if self.kernel == "se" else {"nu": 2.5}
        space = self.variance * shape(self.length_scale, **smoothness)
        noise = max(self.noise, _LEAST_NOISE * self.variance)
        return Prior(space, Forgetting(epsilon), noise, sign * self.mean)

    def is_like(self, other: Model) -> bool:
        """Whether the two differ so little that a policy by one does as well as by the other."""
        return (
            self.kernel == other.kernel
            and abs(self.mean - other.mean) < _SHIFT * sqrt(other.variance)
            and abs(log(max(self.rate, _STILL) / max(other.rate, _STILL))) < log(_FASTER)
            and all(
                abs(log(getattr(self, name) / getattr(other, name))) < log(_LARGER)
                for name in ("variance", "noise", "length_scale", "pace")
            )
        )

    def bounds(self, sign: float) -> tuple[float | None, float | None]:
        """The lowest and the highest value to believe, of values multiplied with a sign."""
        if sign > 0.0:
            return self.low, self.high
        low, high = (None if bound is None else -bound for bound in (self.high, self.low))
        return low, high

    def rates(self) -> Sequence[float]:
        """Candidates for the drift in a unit of time: the usual ones are between two results."""
        return sorted({self.a_unit(rate) for rate in DRIFTS})

    def a_unit(self, rate: float) -> float:
        """The drift in a unit of time, of that between two results."""
        return min(-float(np.expm1(np.log1p(-min(rate, _FASTEST)) / self.pace)), _FASTEST)

    def between_results(self, epsilon: float) -> float:
        """The drift between two results, of that in a unit of time."""
        if epsilon >= 1.0:
            return 1.0
        return -float(np.expm1(np.log1p(-epsilon) * self.pace))

    def to_json(self) -> dict[str, Any]:
        """The parameters by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Read what :meth:`to_json` gave; the first version had no bounds and no rate."""
        given = Given(**{field.name: data[field.name] for field in fields(Given)})
        if not given.complete:
            raise InputError("a model", "one that lacks a parameter")
        low, high = (
            None if bound is None else as_number(bound, "a bound")
            for bound in (data.get("low"), data.get("high"))
        )
        model = given.over(cls(pace=as_positive(data["pace"], "pace")))
        return replace(model, low=low, high=high, rate=_as_share(data.get("rate", cls.rate)))


@dataclass(frozen=True)
class Given:
    """Parameters that the user gave; None is to be learned.

    With a length scale and no kernel, that is Matern's.
    """

    mean: float | None = None
    variance: float | None = None
    noise: float | None = None
    kernel: KernelName | None = None
    length_scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "variance", "noise", "length_scale"):
            value = getattr(self, name)
            with located(name):
                if value is not None:
                    check = as_number if name == "mean" else as_positive
                    object.__setattr__(self, name, check(value, name))
        if self.length_scale is not None and self.kernel is None:
            object.__setattr__(self, "kernel", "matern")
        if self.kernel not in (None, *KERNELS):
            raise InputError(f"one of {', '.join(KERNELS)}", repr(self.kernel)[:60], "", "kernel")

    @property
    def complete(self) -> bool:
        """Whether nothing is left to learn."""
        return None not in vars(self).values()

    def over(self, model: Model) -> Model:
        """The model with what was given in place of what was learned."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(model, **known)


def _as_share(value: object) -> float:
    """Return a drift from 0 to 1, or say what came instead."""
    share = as_number(value, "a rate")
    if not 0.0 <= share <= 1.0:
        raise InputError("a rate from 0 to 1", repr(value)[:60])
    return share


def is_time_to_learn(told: int) -> bool:
    """Whether to learn anew after so many results.

    After each half as many more, from 140 on a quarter as many more, and at least every 1,000.

    Examples
    --------
    >>> [n for n in range(1000) if is_time_to_learn(n)]
    [1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140, 175, 219, 274, 343, 429, 537, 672, 840]
    """
    if told > _OFTEN:
        return (told - _OFTEN) % _RARELY == 0
    return told in _EARLY
