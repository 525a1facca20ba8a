"""The constants (a_i, b_i) of eq:k_deriv0 to eq:k_deriv2, which the paper does not give.

For h = f or one of its derivatives, with deviation s, the Borell-TIS inequality says
P(sup |h| > s (m + u)) <= exp(-u^2 / 2) with s m >= E sup |h|. Since (L - m)^2 >= L^2 / 2 - m^2,
this is at most a exp(-(L / b)^2) for all L >= 0 with

    a = exp(m^2 / 2),   b = 2 s.

m comes from chaining over dyadic grids of the cube (theory.md), without simulation.

Symbols
-------
d, r   the cube [0, r]^d          l, nu   length scale and smoothness; SE is nu = infinity
s, m   deviation of h, and the bound of E sup |h| in units of s, which depends only on r / l
omega  (d,) a frequency drawn from the kernel's spectral density: normal for SE, Student's t with
       2 nu degrees of freedom for Matern, over l
"""

from dataclasses import dataclass
from math import exp, gamma, inf, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.special import poch

from heliotrope.errors import KernelError
from heliotrope.kernels import RBF, ConstantKernel, Foreign, Product, SpaceKernel, is_kernel, native
from heliotrope.validation import LARGEST, Array, as_positive, as_vector, as_whole

_LEVELS = 400  # of grids in the chain; level j counts for 2^(-alpha j)
_HOLDER = np.linspace(0.01, 1.0, 100)  # candidate exponents alpha


@dataclass(frozen=True)
class KernelConstants:
    """P(sup |f| > L) <= a0 exp(-(L/b0)^2), and the same with a1, b1 for each derivative of f.

    a2 and b2 are those of the second derivatives, which only thm:conv needs; None if unknown.
    """

    a0: float
    b0: float
    a1: float
    b1: float
    a2: float | None = None
    b2: float | None = None

    def __post_init__(self) -> None:
        for name in ("a0", "b0", "a1", "b1", "a2", "b2"):
            value = getattr(self, name)
            if value is not None or name not in ("a2", "b2"):
                object.__setattr__(self, name, as_positive(value, name))


def smoothness(kernel: SpaceKernel) -> float:
    """Return nu of a Matern kernel, infinity for SE; a constant factor is ignored."""
    return _nu(_without_factor(kernel))


def kernel_constants(kernel: SpaceKernel, dimension: int, r: float = 1.0) -> KernelConstants:
    """Derive the constants of an SE kernel, or a Matern kernel with nu > 1, over [0, r]^dimension.

    A Matern kernel with nu <= 2 has no second derivatives, so a2 and b2 are missing.

    Examples
    --------
    >>> kernel_constants(RBF(0.2), dimension=2).b1
    10.0
    """
    needed = (*tail(0, kernel, dimension, r), *tail(1, kernel, dimension, r))
    return KernelConstants(*needed, *second_tail(kernel, dimension, r))


def second_tail(kernel: SpaceKernel, dimension: int, r: float) -> tuple[float, float] | tuple[()]:
    """Return (a_2, b_2), or nothing for a kernel without them."""
    try:
        return tail(2, kernel, dimension, r)
    except KernelError:
        return ()


def tail(order: int, kernel: SpaceKernel, dimension: int, r: float) -> tuple[float, float]:
    """Return (a_0, b_0) of f for order 0, (a_1, b_1) and (a_2, b_2) of its derivatives for 1, 2.

    A mixed second derivative has a smaller deviation than those along one coordinate.
    """
    d, r = as_whole(dimension, "dimension", least=1), as_positive(r, "r")
    nu, length = _nu(kernel), _shortest(kernel, d)
    if nu <= order:
        raise KernelError(f"an SE kernel, or a Matern kernel with nu > {order}", f"nu = {nu:g}")
    m = _largest(order, nu, float(d), r / length)
    a, b = exp(min(0.5 * m * m, 700.0)), 2.0 * sqrt(_moment(2.0 * order, nu)) / length**order
    if max(a, b) > LARGEST:
        raise KernelError(
            f"a kernel with constants below {LARGEST:g}",
            f"nu = {nu}, length scale {length:g}, r = {r:g}, {d:g} dimension(s)",
            "Use a larger nu or length scale, fewer dimensions, or give the constants.",
        )
    return a, b


def _largest(order: int, nu: float, d: float, width: float) -> float:
    """Bound E sup |h| / s, h a derivative of this order, over [0, width l]^d.

    s is the deviation along one coordinate. For each derivative
    E (h(x) - h(x'))^2 <= 4 E |omega . (x - x') / 2|^{2 alpha} prod_j omega_j^2 over the coordinates
    j of the derivative, which by Hoelder's inequality is at most (c |x - x'|^alpha)^2 with
    c^2 = 2^{2 - 2 alpha} E |omega_1|^{2 alpha + 2 order}, finite for alpha + order < nu.
    """
    variance = _moment(2.0 * order, nu)
    exponents = _HOLDER[_HOLDER + order < nu].tolist()
    growth = [sqrt(_moment(2.0 * (alpha + order), nu) / variance) for alpha in exponents]
    chains = (
        _chain(2.0 ** (1.0 - alpha) * root, alpha, d, width)
        for alpha, root in zip(exponents, growth, strict=True)
    )
    return min(chains, default=inf)  # empty if h is too rough for the smallest exponent


def _chain(c: float, alpha: float, d: float, width: float) -> float:
    """Chain from the centres of 2^(J d) cells to those of ever finer grids, for the best J.

    The centre of a cell of level j + 1 lies sqrt(d) width 2^(-j-2) from that of the cell of
    level j around it, and the expected maximum of n absolute standard normal values is at most
    sqrt(2 log(2 n)).
    """
    level = np.arange(_LEVELS)
    steps = c * (sqrt(d) * width * 2.0 ** -(level + 2.0)) ** alpha
    links = steps * np.sqrt(2.0 * log(2.0) * (1.0 + d * (level + 1.0)))
    start = np.sqrt(2.0 * log(2.0) * (1.0 + d * level))
    last = links[-1] * (1.0 + 1.0 / _LEVELS) / (1.0 - 2.0**-alpha * (1.0 + 1.0 / _LEVELS))
    return float(np.min(start + links[::-1].cumsum()[::-1] + last))


def _moment(p: float, nu: float) -> float:
    """E |omega_1|^p at length scale 1, for p < 2 nu."""
    normal: float = 2.0 ** (p / 2.0) * gamma((p + 1.0) / 2.0) / sqrt(pi)
    return normal if nu == inf else normal * nu ** (p / 2.0) / float(poch(nu - p / 2.0, p / 2.0))


def _nu(kernel: SpaceKernel) -> float:
    shape = native(kernel) if is_kernel(kernel) else kernel
    shape = shape.kernel if isinstance(shape, Foreign) else shape  # Matern of any other nu
    nu = inf if isinstance(shape, RBF) else getattr(shape, "nu", None)
    if nu is None:
        raise KernelError(
            "an RBF (SE) or a Matern kernel with variance 1", f"a {type(kernel).__name__}"
        )
    return inf if isinstance(nu, float) and nu == inf else as_positive(nu, "nu")


def _shortest(kernel: Any, d: int) -> float:
    """Return the smallest length scale; a kernel has one, or one per coordinate."""
    lengths = as_vector(kernel.length_scale, "length scale")
    if len(lengths) not in (1, d):
        raise KernelError(f"1 or {d:g} length scales", f"{len(lengths)}")
    return as_positive(lengths.min(), "length scale")


def _without_factor(kernel: SpaceKernel) -> SpaceKernel:
    product = native(kernel) if is_kernel(kernel) else kernel
    if isinstance(product, Product):
        for factor, other in ((product.k1, product.k2), (product.k2, product.k1)):
            if isinstance(factor, ConstantKernel):
                return _without_factor(other)
    return kernel


def gradient_variances(kernel: Any, dimension: int) -> Array:
    """Variance of each derivative of f, (d,): E omega_1^2 / l_j^2."""
    tail(1, kernel, dimension, 1.0)  # refuses other kernels
    lengths = np.broadcast_to(as_vector(kernel.length_scale, "length scale"), (dimension,))
    return np.asarray(_moment(2.0, _nu(kernel)) / lengths**2)
