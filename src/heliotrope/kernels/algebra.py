"""Space kernels that load without scikit-learn: their protocol, constants, sums and products.

Names, arguments, values and parameters are those of scikit-learn's kernels.

Symbols
-------
q, n   numbers of points      d   dimension      p   free parameters
X      (q, d) points          Y, B   (n, d) points
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from heliotrope.errors import InputError, KernelError
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_positive, as_vector, short_repr

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
