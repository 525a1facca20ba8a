"""A space kernel over a domain: its covariances between places, and the checks of both.

Symbols
-------
n, q   numbers of places      d   dimension
X      (q, d) points          B   (n, d) points
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Box, Domain, Finite, Places, are_indices
from heliotrope.errors import KernelError
from heliotrope.kernels.own import ConstantKernel, Kernel, Product
from heliotrope.kernels.scikit import (
    PointKernel,
    differences,
    has_white_noise,
    is_kernel,
    native,
)
from heliotrope.linalg import jittered_cholesky
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_array

_ROW_CACHE = 2**22  # bytes
_PROBES = 64  # points at which a kernel is checked


@register
@dataclass(frozen=True, eq=False)
class Tabulated:
    """A space kernel given as its matrix over a Finite domain, such as an empirical covariance.

    Examples
    --------
    >>> Tabulated([[2.0, 0.5], [0.5, 1.0]]).K[0, 1]
    np.float64(0.5)
    """

    K: Array

    def __init__(self, K: ArrayLike) -> None:
        matrix = as_array(K, "K", ndim=2)
        if matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise KernelError("a square matrix K", f"shape {matrix.shape}")
        if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * np.abs(matrix).max()):
            raise KernelError("a symmetric matrix K", "an asymmetric one", "Try (K + K.T) / 2.")
        jittered_cholesky(matrix)
        object.__setattr__(self, "K", matrix)

    def __str__(self) -> str:
        return f"Tabulated over {len(self.K)} points"


SpaceKernel: TypeAlias = "PointKernel | Tabulated"


def is_space_kernel(value: object) -> TypeGuard[SpaceKernel]:
    """Whether a value can be the space kernel of a term."""
    return isinstance(value, Tabulated) or is_kernel(value)


class DomainKernel:
    """A space kernel over a domain: the covariance of f_t between places, at one time."""

    def __init__(self, kernel: SpaceKernel, domain: Domain) -> None:
        self.domain, self.kernel = domain, _checked(kernel, domain)
        self._nugget = _nugget(kernel, domain)
        self.variance = _same_variance(self.kernel, domain)  # of every place, if it is the same
        self._in_box = isinstance(domain, Box)
        self._rows: dict[int, Array] = {}
        self._everywhere = domain.points if isinstance(domain, Finite) else np.empty((0, 0))

    def block(self, a: Places, b: Places) -> Array:
        """Covariance matrix between places a (n,) and b (q,)."""
        if isinstance(self.kernel, Tabulated):
            return np.asarray(self.kernel.K[np.ix_(self._indices(a), self._indices(b))])
        if self._in_box:
            return self.kernel(a, b)
        block = self.kernel(self._points(a), self._points(b))
        if self._nugget is not None and are_indices(a) and are_indices(b):
            block += np.where(a[:, None] == b[None, :], self._nugget[a][:, None], 0.0)
        return block

    def row(self, i: int) -> Array:
        """Covariance of point i with every point of a Finite domain, (M,); do not modify it.

        Policies return to few points, so the latest rows are cached.
        """
        row = self._rows.pop(i, None)
        if row is None:
            row = self._row(i)
            if len(self._rows) * row.nbytes >= _ROW_CACHE:
                del self._rows[next(iter(self._rows))]
        self._rows[i] = row  # at the end: the least recently used comes first
        return row

    def diagonal(self, a: Places) -> Array:
        """Prior variances of places a."""
        if self.variance is not None:
            return np.full(len(a), self.variance)
        if isinstance(self.kernel, Tabulated):
            return np.diag(self.kernel.K)[self._indices(a)]
        return self.kernel.diag(self._points(a))

    @property
    def mean_variance(self) -> float:
        """The mean of the prior variances over a Finite domain, or over some points of a Box."""
        domain = self.domain
        places = domain.indices if isinstance(domain, Finite) else _probes(domain)
        return float(self.diagonal(places).mean())

    def gradient(self, X: Array, B: Array) -> Array:
        """Derivative of k(x, b) by x at every pair, (q, n, d); for a Box only."""
        assert isinstance(self.kernel, Kernel)
        return self.kernel.by_point(X, B)

    def diagonal_gradient(self, X: Array) -> Array:
        """Derivative of k(x, x) by x, (q, d); for a Box only."""
        assert isinstance(self.kernel, Kernel)
        if self.kernel.is_stationary():
            return np.zeros_like(X)
        return differences(self.kernel.diag, X, X)

    def _row(self, i: int) -> Array:
        if isinstance(self.kernel, Tabulated):
            return np.asarray(self.kernel.K[i])
        points = self._everywhere
        row: Array = self.kernel(points[i : i + 1], points)[0]
        if self._nugget is not None:
            row[i] += self._nugget[i]
        return row

    def _points(self, places: Places) -> Array:
        return self.domain.at(places) if are_indices(places) else places

    def _indices(self, places: Places) -> Places:
        return places if are_indices(places) else self.domain.places(places)


def as_multiple(kernel: Kernel | Tabulated) -> tuple[float, Kernel | Tabulated]:
    """Return a factor and a kernel whose product is this kernel.

    Examples
    --------
    >>> from heliotrope.kernels import RBF
    >>> as_multiple(2.0 * RBF(0.3))
    (2.0, RBF(length_scale=0.3))
    """
    if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
        return kernel.k1.constant_value, kernel.k2
    return 1.0, kernel


def _same_variance(kernel: Kernel | Tabulated, domain: Domain) -> float | None:
    """The prior variance of every place, if it is the same."""
    if isinstance(kernel, Tabulated) or not kernel.is_stationary():
        return None
    return float(kernel.diag(np.zeros((1, domain.dimension)))[0])


def _nugget(kernel: SpaceKernel, domain: Domain) -> Array | None:
    """Variance that scikit-learn's WhiteKernel adds at each place, independent of all others."""
    if isinstance(kernel, Tabulated) or not has_white_noise(kernel):
        return None
    if isinstance(domain, Box):
        raise KernelError(
            "a space kernel that is a function of two points",
            "one with a WhiteKernel",
            "In a Box, use Prior(noise=...) instead.",
        )
    pairs = [kernel(point[None], point[None])[0, 0] for point in domain.points]
    return np.asarray(kernel.diag(domain.points) - np.array(pairs))


def _checked(kernel: SpaceKernel, domain: Domain) -> Kernel | Tabulated:
    """Return the kernel in the form that is fast, after checking it over the domain."""
    if isinstance(kernel, Tabulated):
        _check_table(kernel, domain)
        return kernel
    check_kernel(kernel, _probes(domain))
    return native(kernel)


def _check_table(kernel: Tabulated, domain: Domain) -> None:
    if not isinstance(domain, Finite):
        raise KernelError("a Finite domain under a Tabulated kernel", "a Box")
    if len(kernel.K) != len(domain):
        raise KernelError(
            f"one row for each of the domain's {len(domain)} points",
            f"{len(kernel.K)} rows",
        )


def _probes(domain: Domain) -> Array:
    """Some points of the domain at which to check a kernel."""
    rng = np.random.default_rng(0)
    if isinstance(domain, Box):
        return domain.scaled(rng.random((_PROBES, domain.dimension)))
    return domain.points[rng.permutation(len(domain))[:_PROBES]]


def check_kernel(kernel: PointKernel, points: Array) -> None:
    """Raise an error if a kernel fails at some points or is not positive definite there."""
    name = type(kernel).__name__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matrix, parameters = np.asarray(kernel(points)), np.asarray(kernel.theta)
            pairs = np.asarray(kernel(points, points))  # Matern with a large nu fails only here
    except Exception as error:  # a kernel is the user's code and may fail in any way
        raise KernelError(
            f"a kernel over points of {points.shape[1]} coordinate(s)",
            f"a {name} that fails there ({error})",
            "An anisotropic kernel needs one length scale per coordinate.",
        ) from error
    if matrix.shape != (len(points), len(points)):
        raise KernelError(
            "one kernel value per pair of points", f"shape {matrix.shape} from {name}"
        )
    if not all(np.all(np.isfinite(numbers)) for numbers in (matrix, pairs, parameters)):
        raise KernelError("finite kernel values and positive parameters", f"others from {name}")
    if not np.allclose(matrix, matrix.T):
        raise KernelError("a symmetric kernel", f"an asymmetric {name}")
    jittered_cholesky(matrix)
