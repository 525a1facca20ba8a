"""The package's own space kernels: constants, RBF and Matern, sums and products.

They load without scikit-learn. Names, arguments, values and parameters are those of its kernels.

Symbols
-------
q, n   numbers of points      d   dimension      p   free parameters
X      (q, d) points          Y, B   (n, d) points
l      length scale, a number or (d,)
r      distance |(x - b) / l|, its squares as (q, n)

RBF and Matern are radial, k = h(r). With s(r) = -h'(r) / r their derivatives are

    dk / dlog l_j = s(r) ((x_j - b_j) / l_j)^2      dk / dx_j = -s(r) (x_j - b_j) / l_j^2
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from heliotrope.errors import InputError, KernelError
from heliotrope.lazy import lazy_module
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_positive, as_vector, short_repr

distance = lazy_module("scipy.spatial.distance")
_AT_THE_CUSP = 1e-24  # least r^2 in the slope of Matern 1/2, which is infinite at 0

Bounds: TypeAlias = "tuple[float, float] | str"

FIXED = "fixed"
BOUNDS = (1e-5, 1e5)
_NONE: Array = np.empty((0, 2))


class Hyperparameter(NamedTuple):
    """A parameter of a kernel, with one value or one per coordinate."""

    name: str
    n_elements: int
    bounds: Bounds

    @property
    def fixed(self) -> bool:
        return self.bounds == FIXED


class Kernel(ABC):
    """A covariance of points. Kernels add and multiply, also with numbers.

    The free parameters are on a logarithmic scale, as in scikit-learn.
    """

    __array_ufunc__ = None  # a numpy number times a kernel is a kernel

    @abstractmethod
    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return k(x, y) of points X (q, d) and Y (n, d), as (q, n); Y is X unless given."""

    @abstractmethod
    def diag(self, X: Array) -> Array:
        """k(x, x), (q,)."""

    @abstractmethod
    def by_theta(self, X: Array) -> Array:
        """Derivatives of k(X, X) by the free parameters, (q, q, p)."""

    @abstractmethod
    def by_point(self, X: Array, B: Array) -> Array:
        """Derivatives of k(x, b) by x, (q, n, d)."""

    @property
    @abstractmethod
    def hyperparameters(self) -> list[Hyperparameter]:
        """All parameters, fixed ones too."""

    @property
    @abstractmethod
    def theta(self) -> Array:
        """The logarithms of the free parameters, (p,)."""

    @property
    @abstractmethod
    def bounds(self) -> Array:
        """The logarithms of the bounds of the free parameters, (p, 2)."""

    @abstractmethod
    def clone_with_theta(self, theta: Array) -> Kernel:
        """Return the kernel with other free parameters."""

    @abstractmethod
    def rescaled(self, factor: float) -> Kernel:
        """Return the kernel with every length scale multiplied by a factor."""

    def is_stationary(self) -> bool:
        """Whether k(x, b) depends on x - b alone."""
        return True

    def __add__(self, other: object) -> Sum:
        return Sum(self, _as_kernel(other))

    def __radd__(self, other: object) -> Sum:
        return Sum(_as_kernel(other), self)

    def __mul__(self, other: object) -> Product:
        return Product(self, _as_kernel(other))

    def __rmul__(self, other: object) -> Product:
        return Product(_as_kernel(other), self)


def _as_kernel(value: object) -> Kernel:
    if isinstance(value, Kernel):
        return value
    try:
        return ConstantKernel(as_positive(value, "a variance"))
    except InputError:
        raise KernelError(
            "a kernel of heliotrope.kernels, or a positive number",
            short_repr(value),
            "Combine scikit-learn's kernels with each other only.",
        ) from None


class Single(Kernel):
    """A kernel with one parameter, called ``parameter``."""

    parameter: ClassVar[str]

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        return [Hyperparameter(self.parameter, np.size(self._value), self._limits)]

    @property
    def theta(self) -> Array:
        return np.log(np.atleast_1d(self._value)) if self._is_free else np.empty(0)

    @property
    def bounds(self) -> Array:
        return np.tile(np.log(self._limits), (len(self.theta), 1)) if self._is_free else _NONE

    def clone_with_theta(self, theta: Array) -> Kernel:
        return self._with(np.exp(theta)) if self._is_free else self

    @property
    def _value(self) -> float | tuple[float, ...]:
        value: float | tuple[float, ...] = getattr(self, self.parameter)
        return value

    @property
    def _limits(self) -> Bounds:
        limits: Bounds = getattr(self, f"{self.parameter}_bounds")
        return limits

    @property
    def _is_free(self) -> bool:
        return self._limits != FIXED

    def _with(self, values: Array) -> Kernel:
        """Return the kernel with another value, or values, of its parameter."""
        several = isinstance(self._value, tuple)
        changes: dict[str, Any] = {
            self.parameter: tuple(values.tolist()) if several else float(values[0])
        }
        return replace(self, **changes)  # type: ignore[type-var]  # all of them are dataclasses


@register
@dataclass(frozen=True)
class ConstantKernel(Single):
    """The same covariance between any two points."""

    constant_value: float = 1.0
    constant_value_bounds: Bounds = BOUNDS
    parameter: ClassVar[str] = "constant_value"

    def __post_init__(self) -> None:
        object.__setattr__(self, "constant_value", as_positive(self.constant_value, self.parameter))
        object.__setattr__(self, "constant_value_bounds", as_bounds(self._limits))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return np.full((len(X), len(X if Y is None else Y)), self.constant_value)

    def diag(self, X: Array) -> Array:
        return np.full(len(X), self.constant_value)

    def by_theta(self, X: Array) -> Array:
        return np.full((len(X), len(X), int(self._is_free)), self.constant_value)

    def by_point(self, X: Array, B: Array) -> Array:
        return np.zeros((len(X), *B.shape))

    def rescaled(self, factor: float) -> Kernel:
        return self

    def __repr__(self) -> str:
        return f"{sqrt(self.constant_value):.3g}**2"


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels k1 and k2."""

    k1: Kernel
    k2: Kernel

    def is_stationary(self) -> bool:
        return self.k1.is_stationary() and self.k2.is_stationary()

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        named = (("k1", self.k1), ("k2", self.k2))
        return [
            parameter._replace(name=f"{name}__{parameter.name}")
            for name, part in named
            for parameter in part.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        return np.append(self.k1.theta, self.k2.theta)

    @property
    def bounds(self) -> Array:
        return np.vstack([self.k1.bounds, self.k2.bounds])

    def clone_with_theta(self, theta: Array) -> Kernel:
        first, second = np.split(theta, [len(self.k1.theta)])
        return type(self)(self.k1.clone_with_theta(first), self.k2.clone_with_theta(second))

    def rescaled(self, factor: float) -> Kernel:
        return type(self)(self.k1.rescaled(factor), self.k2.rescaled(factor))


@register
@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """k1 + k2."""

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return self.k1(X, Y) + self.k2(X, Y)

    def diag(self, X: Array) -> Array:
        return self.k1.diag(X) + self.k2.diag(X)

    def by_theta(self, X: Array) -> Array:
        return np.concatenate([self.k1.by_theta(X), self.k2.by_theta(X)], axis=2)

    def by_point(self, X: Array, B: Array) -> Array:
        return self.k1.by_point(X, B) + self.k2.by_point(X, B)

    def __repr__(self) -> str:
        return f"{self.k1} + {self.k2}"


@register
@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """k1 k2."""

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return self.k1(X, Y) * self.k2(X, Y)

    def diag(self, X: Array) -> Array:
        return self.k1.diag(X) * self.k2.diag(X)

    def by_theta(self, X: Array) -> Array:
        left, right = self.k1(X)[:, :, None], self.k2(X)[:, :, None]
        return np.concatenate([self.k1.by_theta(X) * right, left * self.k2.by_theta(X)], axis=2)

    def by_point(self, X: Array, B: Array) -> Array:
        left, right = self.k1(X, B)[:, :, None], self.k2(X, B)[:, :, None]
        return self.k1.by_point(X, B) * right + left * self.k2.by_point(X, B)

    def __repr__(self) -> str:
        return f"{self.k1} * {self.k2}"


def as_bounds(value: Any) -> Bounds:
    """Return the bounds of a parameter: two positive numbers, or "fixed"."""
    if isinstance(value, str) and value == FIXED:
        return FIXED
    limits = () if isinstance(value, str) else tuple(as_vector(value, "bounds").tolist())
    if len(limits) != 2 or not 0.0 < limits[0] <= limits[1]:
        raise InputError("two increasing positive bounds, or 'fixed'", short_repr(value))
    return limits


class _Profile(NamedTuple):
    """h and s of a radial kernel, as functions of r^2."""

    h: Callable[[Array], Array]
    s: Callable[[Array], Array]


def _matern_1(squares: Array) -> Array:
    return np.asarray(np.exp(-np.sqrt(squares)))


def _matern_1_slope(squares: Array) -> Array:
    return _matern_1(squares) / np.sqrt(np.maximum(squares, _AT_THE_CUSP))


def _matern_3(squares: Array) -> Array:
    z = sqrt(3.0) * np.sqrt(squares)
    return np.asarray((1.0 + z) * np.exp(-z))


def _matern_3_slope(squares: Array) -> Array:
    return np.asarray(3.0 * np.exp(-sqrt(3.0) * np.sqrt(squares)))


def _matern_5(squares: Array) -> Array:
    z = sqrt(5.0) * np.sqrt(squares)
    return np.asarray((1.0 + z + np.square(z) / 3.0) * np.exp(-z))


def _matern_5_slope(squares: Array) -> Array:
    z = sqrt(5.0) * np.sqrt(squares)
    return np.asarray(5.0 / 3.0 * (1.0 + z) * np.exp(-z))


def _gauss(squares: Array) -> Array:
    return np.asarray(np.exp(-0.5 * squares))


_PROFILES = {  # by nu: Rasmussen and Williams (2006), eq. 4.9 and 4.17
    0.5: _Profile(_matern_1, _matern_1_slope),
    1.5: _Profile(_matern_3, _matern_3_slope),
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
        if Y is not None:  # of the same coordinates as X
            return self._profile.h(distance.cdist(scaled, Y / self._l, "sqeuclidean"))
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

    @cached_property
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

    @cached_property
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

    @cached_property
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
