"""Space kernels over a domain: scikit-learn kernels, or a matrix over a Finite domain.

Symbols
-------
n, q   numbers of places      d   dimension
X      (q, d) points          B   (n, d) points
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    Matern,
    Product,
    Sum,
    WhiteKernel,
)

from heliotrope.domains import Box, Domain, Finite, Places, are_indices
from heliotrope.errors import KernelError
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


SpaceKernel: TypeAlias = Kernel | Tabulated


class DomainKernel:
    """A space kernel over a domain: the covariance of f_t between places, at one time."""

    def __init__(self, kernel: SpaceKernel, domain: Domain) -> None:
        self.kernel, self.domain = kernel, domain
        if isinstance(kernel, Tabulated):
            _check_table(kernel, domain)
        else:
            check_kernel(kernel, _probes(domain))
        self._nugget = _nugget(kernel, domain)
        self._rows: dict[int, Array] = {}
        self._everywhere = domain.points if isinstance(domain, Finite) else np.empty((0, 0))

    def block(self, a: Places, b: Places) -> Array:
        """Covariance matrix between places a (n,) and b (q,)."""
        if isinstance(self.kernel, Tabulated):
            return np.asarray(self.kernel.K[np.ix_(self._indices(a), self._indices(b))])
        block: Array = self.kernel(self._points(a), self._points(b))
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
        if isinstance(self.kernel, Tabulated):
            return np.diag(self.kernel.K)[self._indices(a)]
        return np.asarray(self.kernel.diag(self._points(a)))

    @property
    def mean_variance(self) -> float:
        """The mean of the prior variances over a Finite domain, or over some points of a Box."""
        domain = self.domain
        places = domain.indices if isinstance(domain, Finite) else _probes(domain)
        return float(self.diagonal(places).mean())

    def gradient(self, X: Array, B: Array) -> Array:
        """Derivative of k(x, b) by x at every pair, (q, n, d); for a Box only."""
        assert isinstance(self.kernel, Kernel)
        return kernel_gradient(self.kernel, X, B)

    def diagonal_gradient(self, X: Array) -> Array:
        """Derivative of k(x, x) by x, (q, d); for a Box only."""
        assert isinstance(self.kernel, Kernel)
        if self.kernel.is_stationary():
            return np.zeros_like(X)
        return _differences(self.kernel.diag, X, X)

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


def as_multiple(kernel: SpaceKernel) -> tuple[float, SpaceKernel]:
    """A factor and a kernel whose product is the given one.

    Examples
    --------
    >>> as_multiple(2.0 * RBF(0.3))
    (2.0, RBF(length_scale=0.3))
    """
    if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
        return float(kernel.k1.constant_value), kernel.k2
    return 1.0, kernel


def kernel_gradient(kernel: Kernel, X: Array, B: Array) -> Array:
    """Derivative of k(x, b) by x, (q, n, d): analytic for SE, Matern and their sums and products.

    Other kernels use finite differences.
    """
    if isinstance(kernel, Sum):
        return kernel_gradient(kernel.k1, X, B) + kernel_gradient(kernel.k2, X, B)
    if isinstance(kernel, Product):
        left, right = kernel.k1(X, B)[:, :, None], kernel.k2(X, B)[:, :, None]
        gradient: Array = kernel_gradient(kernel.k1, X, B) * right
        gradient += left * kernel_gradient(kernel.k2, X, B)
        return gradient
    if isinstance(kernel, ConstantKernel):
        return np.zeros((len(X), *B.shape))
    slope = _slope(kernel)
    if slope is None:
        return _differences(lambda points: kernel(points, B), X, B)
    scaled = (X[:, None, :] - B[None, :, :]) / kernel.length_scale
    r = np.sqrt(np.einsum("qnd,qnd->qn", scaled, scaled))
    return np.asarray(-slope(r)[:, :, None] * scaled / kernel.length_scale)


def _slope(kernel: Kernel) -> Callable[[Array], Array] | None:
    """For k = h(r), r = |(x - b) / l|, return s = -h'(r) / r, so that grad = -s (x - b) / l^2."""
    if type(kernel) is RBF:
        return _SLOPES[np.inf]
    return _SLOPES.get(kernel.nu) if type(kernel) is Matern else None


_SLOPES: dict[float, Callable[[Array], Array]] = {  # by Matern's nu
    0.5: lambda r: np.exp(-r) / np.maximum(r, 1e-12),  # a cusp at r = 0: the slope is set to 0
    1.5: lambda r: 3.0 * np.exp(-np.sqrt(3.0) * r),
    2.5: lambda r: 5.0 / 3.0 * (1.0 + np.sqrt(5.0) * r) * np.exp(-np.sqrt(5.0) * r),
    np.inf: lambda r: np.exp(-0.5 * r**2),
}


def _differences(function: Callable[[Array], Array], X: Array, B: Array) -> Array:
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


def has_white_noise(kernel: Kernel) -> bool:
    """Whether a WhiteKernel is among the parts of a scikit-learn kernel."""
    parts = [kernel, *kernel.get_params(deep=True).values()]
    return any(isinstance(part, WhiteKernel) for part in parts)


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


def check_kernel(kernel: Kernel, points: Array) -> None:
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
