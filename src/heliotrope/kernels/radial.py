"""Radial kernels, functions of the distance in units of the length scale: RBF and Matern.

Symbols
-------
q, n   numbers of points      d   dimension      p   free parameters
X      (q, d) points          B   (n, d) points
l      length scale, a number or (d,)
r      distance |(x - b) / l|, its squares as (q, n)

With k = h(r) and s(r) = -h'(r) / r the derivatives are

    dk / dlog l_j = s(r) ((x_j - b_j) / l_j)^2      dk / dx_j = -s(r) (x_j - b_j) / l_j^2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from heliotrope.errors import InputError, KernelError
from heliotrope.kernels.algebra import BOUNDS, Bounds, Kernel, Single, as_bounds
from heliotrope.lazy import lazy_module
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_positive, as_vector, short_repr

distance = lazy_module("scipy.spatial.distance")

_AT_THE_CUSP = 1e-24  # least r^2 in the slope of Matern 1/2, which is infinite at 0


class _Profile(NamedTuple):
    """h and s of a radial kernel, as functions of r^2."""

    h: Callable[[Array], Array]
    s: Callable[[Array], Array]


def _matern_1(squares: Array) -> Array:
    return np.asarray(np.exp(-np.sqrt(squares)))


def _matern_3(squares: Array) -> Array:
    z = sqrt(3.0) * np.sqrt(squares)
    return np.asarray((1.0 + z) * np.exp(-z))


def _matern_5(squares: Array) -> Array:
    z = sqrt(5.0) * np.sqrt(squares)
    return np.asarray((1.0 + z + np.square(z) / 3.0) * np.exp(-z))


def _matern_5_slope(squares: Array) -> Array:
    z = sqrt(5.0) * np.sqrt(squares)
    return np.asarray(5.0 / 3.0 * (1.0 + z) * np.exp(-z))


def _gauss(squares: Array) -> Array:
    return np.asarray(np.exp(-0.5 * squares))


_PROFILES = {  # by nu: Rasmussen and Williams (2006), eq. 4.9 and 4.17
    0.5: _Profile(_matern_1, lambda r2: _matern_1(r2) / np.sqrt(np.maximum(r2, _AT_THE_CUSP))),
    1.5: _Profile(_matern_3, lambda r2: 3.0 * np.exp(-sqrt(3.0) * np.sqrt(r2))),
    2.5: _Profile(_matern_5, _matern_5_slope),
    inf: _Profile(_gauss, _gauss),
}
SMOOTHNESSES = tuple(_PROFILES)
"""The nu of a Matern kernel of this module."""


@dataclass(frozen=True, repr=False)
class _Radial(Single):
    """A function of the scaled distance."""

    length_scale: float | Sequence[float] = 1.0
    length_scale_bounds: Bounds = BOUNDS
    parameter: ClassVar[str] = "length_scale"

    def __post_init__(self) -> None:
        object.__setattr__(self, "length_scale", _as_lengths(self.length_scale))
        object.__setattr__(self, "length_scale_bounds", as_bounds(self._limits))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        scaled = self._scaled(X)
        if Y is not None:
            return self._profile.h(distance.cdist(scaled, self._scaled(Y), "sqeuclidean"))
        K: Array = distance.squareform(self._profile.h(distance.pdist(scaled, "sqeuclidean")))
        np.fill_diagonal(K, 1.0)
        return K

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def by_theta(self, X: Array) -> Array:
        if not self._is_free:
            return np.empty((len(X), len(X), 0))
        scaled = self._scaled(X)
        squares = np.square(scaled[:, None, :] - scaled[None, :, :])
        total = squares.sum(axis=2, keepdims=True)
        return self._profile.s(total) * (total if self._l.size == 1 else squares)

    def by_point(self, X: Array, B: Array) -> Array:
        scaled = (X[:, None, :] - B[None, :, :]) / self._l
        slope = self._profile.s(np.einsum("qnd,qnd->qn", scaled, scaled))
        return np.asarray(-slope[:, :, None] * scaled / self._l)

    def rescaled(self, factor: float) -> Kernel:
        return self._with(factor * np.atleast_1d(self._l))

    @property
    def _profile(self) -> _Profile:
        raise NotImplementedError

    @cached_property
    def _l(self) -> Array:
        return np.array(self.length_scale)

    def _scaled(self, X: Array) -> Array:
        if self._l.size not in (1, X.shape[1]):
            raise KernelError(f"points of {self._l.size} coordinates", f"{X.shape[1]}")
        return np.asarray(X / self._l)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._described})"

    @property
    def _described(self) -> str:
        lengths = self.length_scale
        if not isinstance(lengths, Sequence) or len(lengths) == 1:
            return f"length_scale={np.ravel(lengths)[0]:.3g}"
        return f"length_scale=[{', '.join(f'{length:.3g}' for length in lengths)}]"


@register
@dataclass(frozen=True, repr=False)
class RBF(_Radial):
    """The squared-exponential kernel exp(-r^2 / 2).

    Examples
    --------
    >>> 2.0 * RBF(0.3) + RBF((0.5, 1.0), length_scale_bounds="fixed")
    1.41**2 * RBF(length_scale=0.3) + RBF(length_scale=[0.5, 1])
    """

    @property
    def _profile(self) -> _Profile:
        return _PROFILES[inf]


@register
@dataclass(frozen=True, repr=False)
class Matern(_Radial):
    """The Matern kernel with nu 0.5, 1.5, 2.5 or infinity; for others use scikit-learn's.

    Examples
    --------
    >>> Matern(0.3, nu=2.5)
    Matern(length_scale=0.3, nu=2.5)
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.nu, (int, float)) or self.nu not in _PROFILES:
            raise InputError(
                "nu to be 0.5, 1.5, 2.5 or inf",
                short_repr(self.nu),
                "For others use sklearn.gaussian_process.kernels.Matern.",
                "nu",
            )

    @property
    def _profile(self) -> _Profile:
        return _PROFILES[self.nu]

    @property
    def _described(self) -> str:
        return f"{super()._described}, nu={self.nu:.3g}"


def _as_lengths(value: Any) -> float | tuple[float, ...]:
    if np.ndim(value) == 0:
        return as_positive(value, "length_scale")
    lengths = as_vector(value, "length_scale").tolist()
    return tuple(as_positive(length, "length_scale") for length in lengths)
