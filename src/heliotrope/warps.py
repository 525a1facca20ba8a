"""Warps: increasing functions of values, after which a Gaussian process describes them better.

Symbols
-------
y     a value                     z = w(y)   what the Gaussian process describes
m, C  mean and covariance of z    He_k       Hermite polynomial of order k
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import cosh, factorial, sinh
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.polynomial.hermite_e import hermegauss, hermevander
from numpy.typing import ArrayLike

from heliotrope.errors import InputError
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_number, as_positive

__all__ = ["IDENTITY", "Identity", "Logarithm", "SinhArcsinh", "Warp", "warp_from_json"]

_LARGEST = 115.0  # exponent whose fourth power does not overflow
_NODES, _WEIGHTS = hermegauss(32)
_ORDERS = 9  # Hermite polynomials in a covariance
_BY_ORDER = hermevander(_NODES, _ORDERS - 1) * (_WEIGHTS / _WEIGHTS.sum())[:, None]
_TINY = np.finfo(float).tiny
_FACTORIALS = np.array([factorial(k) for k in range(_ORDERS)], dtype=float)

Moments: TypeAlias = tuple[Array, Array]
"""Means and variances."""


@dataclass(frozen=True)
class Warp(ABC):
    """An increasing function z = w(y)."""

    kind: ClassVar[str]

    @abstractmethod
    def inside(self, y: ArrayLike) -> Array:
        """Return z of values."""

    @abstractmethod
    def outside(self, z: ArrayLike) -> Array:
        """Return the values of z."""

    @abstractmethod
    def slope(self, y: ArrayLike) -> Array:
        """Return dz / dy at values."""

    @abstractmethod
    def negated(self) -> Warp:
        """Return the warp of -y whose result is -z."""

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of y, if z is Gaussian."""
        values = self._at_nodes(mean, variance)
        weights = _WEIGHTS / _WEIGHTS.sum()
        center = weights @ values
        return center, weights @ np.square(values - center)

    def covariance(self, mean: Array, joint: Array) -> Array:
        """Covariance of y (n, n), if z has this mean (n,) and covariance (n, n)."""
        moments = mean, np.diagonal(joint)
        covariance = self.cross_covariance(moments, moments, joint)
        np.fill_diagonal(covariance, self.moments(*moments)[1])
        return covariance

    def cross_covariance(self, here: Moments, there: Moments, joint: Array) -> Array:
        """Covariance of y at places (n,) with y at others (q,), if that of z is ``joint`` (n, q).

        With c_k = E[y He_k] it is sum_k c_k c_k^T rho^k / k!, k >= 1 (Mehler's formula), where rho
        is the correlation of z.
        """
        left = self._at_nodes(*here).T @ _BY_ORDER
        right = self._at_nodes(*there).T @ _BY_ORDER
        std, other = np.sqrt(np.maximum(here[1], _TINY)), np.sqrt(np.maximum(there[1], _TINY))
        rho = np.clip(joint / np.multiply.outer(std, other), -1.0, 1.0)
        total = np.zeros_like(joint)
        for k in range(1, _ORDERS):
            total += np.outer(left[:, k], right[:, k]) * rho**k / _FACTORIALS[k]
        return total

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    def _at_nodes(self, mean: Array, variance: Array) -> Array:
        """Values (q, n) at the nodes of a Gauss-Hermite quadrature."""
        return self.outside(mean + np.multiply.outer(_NODES, np.sqrt(variance)))


@register
@dataclass(frozen=True)
class Identity(Warp):
    """z = y."""

    kind: ClassVar[str] = "identity"

    def inside(self, y: ArrayLike) -> Array:
        return np.asarray(y, dtype=float)

    def outside(self, z: ArrayLike) -> Array:
        return np.asarray(z, dtype=float)

    def slope(self, y: ArrayLike) -> Array:
        return np.ones_like(np.asarray(y, dtype=float))

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        return mean, variance

    def covariance(self, mean: Array, joint: Array) -> Array:
        return joint

    def cross_covariance(self, here: Moments, there: Moments, joint: Array) -> Array:
        return joint

    def negated(self) -> Identity:
        return self


IDENTITY = Identity()


@register
@dataclass(frozen=True)
class Logarithm(Warp):
    """z = s log(s y) for values of one sign s, which count as at least ``floor`` in size."""

    sign: float
    floor: float
    kind: ClassVar[str] = "log"

    def inside(self, y: ArrayLike) -> Array:
        return np.asarray(self.sign * np.log(self._size(y)))

    def outside(self, z: ArrayLike) -> Array:
        return np.asarray(self.sign * np.exp(np.minimum(self.sign * np.asarray(z), _LARGEST)))

    def slope(self, y: ArrayLike) -> Array:
        return np.asarray(1.0 / self._size(y))

    def negated(self) -> Logarithm:
        return Logarithm(-self.sign, self.floor)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean s exp(s m + v / 2) and variance (exp(v) - 1) exp(2 s m + v)."""
        size = np.exp(np.minimum(self.sign * mean + 0.5 * variance, _LARGEST))
        spread = np.expm1(np.minimum(variance, _LARGEST))
        return self.sign * size, spread * size**2

    def cross_covariance(self, here: Moments, there: Moments, joint: Array) -> Array:
        """Cov[y_i, y_j] = E[y_i] E[y_j] (exp(C_ij) - 1)."""
        means = (self.moments(*moments)[0] for moments in (here, there))
        return np.asarray(np.outer(*means) * np.expm1(np.minimum(joint, _LARGEST)))

    def _size(self, y: ArrayLike) -> Array:
        return np.asarray(np.maximum(self.sign * np.asarray(y), max(self.floor, 1e-300)))


@register
@dataclass(frozen=True)
class SinhArcsinh(Warp):
    """z = sinh(arcsinh(r) + skew), r = (y - center) / unit (Jones and Pewsey, 2009).

    Far above the center z grows exp(skew) times as fast as r, far below it exp(-skew) times. So a
    positive skew suits values with a long lower tail.
    """

    skew: float
    center: float
    unit: float
    kind: ClassVar[str] = "sinh-arcsinh"

    def inside(self, y: ArrayLike) -> Array:
        return _skewed((np.asarray(y) - self.center) / self.unit, self.skew)

    def outside(self, z: ArrayLike) -> Array:
        return self.center + self.unit * _skewed(np.asarray(z), -self.skew)

    def slope(self, y: ArrayLike) -> Array:
        r = (np.asarray(y) - self.center) / self.unit
        return np.asarray((cosh(self.skew) + r / np.hypot(1.0, r) * sinh(self.skew)) / self.unit)

    def negated(self) -> SinhArcsinh:
        return SinhArcsinh(-self.skew, -self.center, self.unit)


def _skewed(r: Array, skew: float) -> Array:
    """The function sinh(arcsinh(r) + skew)."""
    return np.asarray(r * cosh(skew) + np.hypot(1.0, r) * sinh(skew))


def warp_from_json(data: Mapping[str, Any]) -> Warp:
    """Read the output of :meth:`Warp.to_json`."""
    kind = data["kind"]
    if kind == Identity.kind:
        return IDENTITY
    if kind == Logarithm.kind:
        return Logarithm(as_number(data["sign"], "sign"), as_number(data["floor"], "floor"))
    if kind == SinhArcsinh.kind:
        skew, center = as_number(data["skew"], "skew"), as_number(data["center"], "center")
        return SinhArcsinh(skew, center, as_positive(data["unit"], "unit"))
    kinds = ", ".join(warp.kind for warp in (Identity, Logarithm, SinhArcsinh))
    raise InputError(f"a warp of the kind {kinds}", repr(kind)[:60])
