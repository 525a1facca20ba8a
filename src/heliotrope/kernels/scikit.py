"""scikit-learn's kernels, recognized without loading scikit-learn.

A program that has one of these kernels has loaded scikit-learn already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from heliotrope.errors import InputError
from heliotrope.kernels.own import (
    BOUNDS,
    FIXED,
    RBF,
    SMOOTHNESSES,
    Bounds,
    ConstantKernel,
    Hyperparameter,
    Kernel,
    Matern,
    Product,
    Sum,
)
from heliotrope.validation import Array

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

_MODULE = "sklearn.gaussian_process.kernels"

PointKernel: TypeAlias = "Kernel | ScikitKernel"
"""A function of two points, of this package or of scikit-learn."""


def is_kernel(value: object) -> TypeGuard[PointKernel]:
    """Whether a value is a kernel of this package or of scikit-learn."""
    return isinstance(value, Kernel) or _is_scikit(value)


def native(kernel: Any) -> Kernel:
    """Return a kernel of the same values that has derivatives, analytic ones where possible.

    A kernel with parameters that this package refuses stays as it is, for check_kernel to refuse.

    Examples
    --------
    >>> from sklearn.gaussian_process import kernels
    >>> native(2.0 * kernels.RBF(0.3)) == 2.0 * RBF(0.3)
    True
    """
    if isinstance(kernel, Kernel):
        return kernel
    with suppress(InputError):
        return _converted(kernel, sys.modules[_MODULE])
    return Foreign(kernel)


def has_white_noise(kernel: Any) -> bool:
    """Whether a WhiteKernel is among the parts of a scikit-learn kernel."""
    if not _is_scikit(kernel):
        return False
    parts = [kernel, *kernel.get_params(deep=True).values()]
    return any(isinstance(part, sys.modules[_MODULE].WhiteKernel) for part in parts)


def rescaled(kernel: PointKernel, factor: float) -> PointKernel:
    """Return a kernel of the same type with every length scale multiplied by a factor."""
    if isinstance(kernel, Kernel):
        return kernel.rescaled(factor)
    lengths = {
        name: np.multiply(value, factor)
        for name, value in kernel.get_params(deep=True).items()
        if name.endswith("length_scale")
    }
    return kernel.clone_with_theta(kernel.theta).set_params(**lengths)


def differences(function: Callable[[Array], Array], X: Array, B: Array) -> Array:
    """Central differences of a function of points (q, d) -> (q, ...), as (q, ..., d).

    The step is a share of the width of all points, and large enough for floating point.
    """
    everything = np.concatenate([X, B])
    width, size = np.ptp(everything, axis=0), np.abs(everything).max(axis=0)
    step = np.maximum(1e-5 * width, 1e-8 * size)
    step[step == 0.0] = 1e-8
    columns = [
        (function(X + shift) - function(X - shift)) / (2.0 * width)
        for shift, width in zip(np.diag(step), step, strict=True)
    ]
    return np.stack(columns, axis=-1)


@dataclass(frozen=True, repr=False)
class Foreign(Kernel):
    """A scikit-learn kernel without a counterpart in this package."""

    kernel: Any

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return np.asarray(self.kernel(X, Y))

    def diag(self, X: Array) -> Array:
        return np.asarray(self.kernel.diag(X))

    def by_theta(self, X: Array) -> Array:
        return np.asarray(self.kernel(X, eval_gradient=True)[1])

    def by_point(self, X: Array, B: Array) -> Array:
        return differences(lambda points: self.kernel(points, B), X, B)

    def is_stationary(self) -> bool:
        return bool(self.kernel.is_stationary())

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        return list(self.kernel.hyperparameters)

    @property
    def bounds(self) -> Array:
        return np.reshape(self.kernel.bounds, (-1, 2))

    @property
    def theta(self) -> Array:
        return np.asarray(self.kernel.theta)

    def clone_with_theta(self, theta: Array) -> Kernel:
        return Foreign(self.kernel.clone_with_theta(theta))

    def rescaled(self, factor: float) -> Kernel:
        return Foreign(rescaled(self.kernel, factor))

    def __repr__(self) -> str:
        return repr(self.kernel)


def _is_scikit(value: object) -> bool:
    # the name is missing while another thread loads the module
    kind = getattr(sys.modules.get(_MODULE), "Kernel", None)
    return kind is not None and isinstance(value, kind)


def _converted(kernel: Any, kinds: ModuleType) -> Kernel:
    """Return a kernel of this package; subclasses of scikit-learn's kernels stay as they are."""
    kind = type(kernel)
    if kind is kinds.Sum:
        return Sum(native(kernel.k1), native(kernel.k2))
    if kind is kinds.Product:
        return Product(native(kernel.k1), native(kernel.k2))
    if kind is kinds.ConstantKernel:
        fixed = kernel.hyperparameter_constant_value.fixed
        return ConstantKernel(kernel.constant_value, FIXED if fixed else BOUNDS)
    if kind is kinds.RBF:
        return RBF(*_radial(kernel))
    if kind is kinds.Matern and kernel.nu in SMOOTHNESSES:
        return Matern(*_radial(kernel), nu=float(kernel.nu))
    return Foreign(kernel)


def _radial(kernel: Any) -> tuple[Any, Bounds]:
    """Return the length scale, and bounds that tell whether it is fixed."""
    return kernel.length_scale, FIXED if kernel.hyperparameter_length_scale.fixed else BOUNDS
