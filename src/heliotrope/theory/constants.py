"""The constants (a_0, b_0, a_1, b_1) of eq:k_deriv0 and eq:k_deriv1, which the paper leaves open.

For h = f or one of its derivatives, of deviation s, the Borell-TIS inequality says
P(sup |h| > m + u) <= exp(-u^2 / (2 s^2)) with m >= E sup |h|. Since (L - m)^2 >= L^2 / 2 - m^2,
this is at most a exp(-(L / b)^2) for all L >= 0 with

    a = exp(m^2 / (2 s^2)),   b = 2 s.

m comes from chaining over dyadic grids of the cube (docs/theory.md). Nothing is simulated.

Symbols
-------
d, r   the cube [0, r]^d          l, nu   length scale and smoothness; SE is nu = infinity
omega  (d,) a frequency drawn from the kernel's spectral density: normal for SE, Student's t with
       2 nu degrees of freedom for Matern, over l
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, gamma, inf, lgamma, log, pi, sqrt

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, Product

from heliotrope.arrays import as_positive, as_whole
from heliotrope.errors import KernelError

_LEVELS = 200  # of grids in the chain; level j counts for 2^(-alpha j)
_HOLDER = np.linspace(0.01, 1.0, 100)  # exponents alpha that are tried


@dataclass(frozen=True)
class KernelConstants:
    """P(sup |f| > L) <= a0 exp(-(L/b0)^2), and the same with a1, b1 for each derivative of f."""

    a0: float
    b0: float
    a1: float
    b1: float

    def __post_init__(self) -> None:
        for name in ("a0", "b0", "a1", "b1"):
            as_positive(getattr(self, name), name)


def smoothness(kernel: Kernel) -> float:
    """Return nu of a Matern kernel, infinity for SE; a constant factor does not matter."""
    nu, _ = _parameters(_without_factor(kernel))
    return nu


def kernel_constants(kernel: Kernel, dimension: int, r: float = 1.0) -> KernelConstants:
    """Derive the constants of an SE kernel, or a Matern kernel of nu > 1, over [0, r]^dimension.

    Examples
    --------
    >>> kernel_constants(RBF(0.2), dimension=2).b1
    10.0
    """
    d, r = as_whole(dimension, "dimension", least=1), as_positive(r, "r")
    nu, length = _parameters(kernel)
    if nu <= 1.0:
        raise KernelError("an SE kernel, or a Matern kernel of nu > 1", f"nu = {nu:g}")
    a0, b0 = _tail(1.0, _largest(0, nu, length, d, r))
    slope = sqrt(_moment(2.0, nu)) / length  # deviation of a derivative
    a1, b1 = _tail(slope, _largest(1, nu, length, d, r))
    return KernelConstants(a0, b0, a1, b1)


def _tail(s: float, m: float) -> tuple[float, float]:
    """(a, b) of a process of deviation s whose largest absolute value has a mean of at most m."""
    return exp(m**2 / (2.0 * s**2)), 2.0 * s


def _largest(order: int, nu: float, length: float, d: int, r: float) -> float:
    """Bound E sup |h|, h the order-th derivative of f along a coordinate, over [0, r]^d.

    E (h(x) - h(x'))^2 <= 4 E |omega . (x - x') / 2|^{2 alpha} omega_j^{2 order}, which by
    Hoelder's inequality is at most (c |x - x'|^alpha)^2 with
    c^2 = 2^{2 - 2 alpha} E |omega_1|^{2 alpha + 2 order}, finite for alpha + order < nu.
    """
    s = sqrt(_moment(2.0 * order, nu)) / length**order
    exponents = _HOLDER[_HOLDER + order < nu]
    moments = [_moment(2.0 * (alpha + order), nu) for alpha in exponents]
    return min(
        _chain(s, 2.0 ** (1.0 - alpha) * sqrt(moment) / length ** (alpha + order), alpha, d, r)
        for alpha, moment in zip(exponents.tolist(), moments, strict=True)
    )


def _chain(s: float, c: float, alpha: float, d: int, r: float) -> float:
    """Chain from the centres of 2^(J d) cells to those of ever smaller ones, for the best J.

    The centre of a cell of level j + 1 lies sqrt(d) r 2^(-j-2) from that of the cell of level j
    around it, and n absolute normal values of deviation s have a mean largest of at most
    s sqrt(2 log(2 n)).
    """
    level = np.arange(_LEVELS)
    steps = c * (sqrt(d) * r * 2.0 ** -(level + 2.0)) ** alpha
    links = steps * np.sqrt(2.0 * log(2.0) * (1.0 + d * (level + 1.0)))
    start = s * np.sqrt(2.0 * log(2.0) * (1.0 + d * level))
    last = links[-1] * (1.0 + 1.0 / _LEVELS) / (1.0 - 2.0**-alpha * (1.0 + 1.0 / _LEVELS))
    return float(np.min(start + links[::-1].cumsum()[::-1] + last))


def _moment(p: float, nu: float) -> float:
    """E |omega_1|^p at length scale 1, for p < 2 nu."""
    normal: float = 2.0 ** (p / 2.0) * gamma((p + 1.0) / 2.0) / sqrt(pi)
    if nu == inf:
        return normal
    return normal * exp(0.5 * p * log(nu) + lgamma(nu - p / 2.0) - lgamma(nu))


def _parameters(kernel: Kernel) -> tuple[float, float]:
    """Return nu and the smallest length scale."""
    if not isinstance(kernel, RBF):  # Matern is one too
        raise KernelError("an RBF (SE) or a Matern kernel of variance 1", str(kernel))
    nu = float(kernel.nu) if isinstance(kernel, Matern) else inf
    return nu, float(np.min(kernel.length_scale))


def _without_factor(kernel: Kernel) -> Kernel:
    if isinstance(kernel, Product):
        for factor, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if isinstance(factor, ConstantKernel):
                return _without_factor(other)
    return kernel
