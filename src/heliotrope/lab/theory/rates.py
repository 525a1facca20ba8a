"""The rates of Corollary cor:specific, and the block length that achieves them.

Up to logarithms R_T = max(T^p, T epsilon^q). gamma_N grows as N^c, where c = 0 for SE and
c = d (d + 1) / (2 nu + d (d + 1)) for Matern. p = (1 + c) / 2, and q depends on the algorithm.
The corollary covers SE, and Matern with nu > 2.
"""

from dataclasses import dataclass
from math import ceil, inf

from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import SpaceKernel
from heliotrope.lab.theory.constants import smoothness
from heliotrope.priors import Forgetting
from heliotrope.validation import as_number, as_whole

_ROUGHEST = 2  # nu of a Matern kernel, which the corollary requires to be larger
_SE_BLOCK, _MATERN_BLOCK = 12.0, 24.0  # the paper's constants, found by cross-validation


@dataclass(frozen=True)
class Rate:
    """R_T = max(T^horizon_exponent, T epsilon^drift_exponent), up to logarithms and a constant."""

    horizon_exponent: float
    drift_exponent: float

    def __post_init__(self) -> None:
        for name in ("horizon_exponent", "drift_exponent"):
            exponent = as_number(getattr(self, name), name)
            if not 0.0 <= exponent <= 1.0:
                raise InputError(f"{name} between 0 and 1", repr(exponent))
            object.__setattr__(self, name, exponent)

    def __call__(self, horizon: int, epsilon: float) -> float:
        """Return the larger of the two terms; only ratios of such values are meaningful."""
        T = as_whole(horizon, "horizon", least=1)
        drift = Forgetting(epsilon).epsilon
        return float(max(T**self.horizon_exponent, T * drift**self.drift_exponent))


def complexity(kernel: SpaceKernel, dimension: int) -> float:
    """Return c of gamma_N = O~(N^c): 0 for SE, d (d + 1) / (2 nu + d (d + 1)) for Matern.

    Examples
    --------
    >>> from heliotrope.kernels import RBF, Matern
    >>> complexity(RBF(0.2), 2), round(complexity(Matern(0.2, nu=2.5), 2), 4)
    (0.0, 0.5455)
    """
    d, nu = as_whole(dimension, "dimension", least=1), smoothness(kernel)
    return 0.0 if nu == inf else d * (d + 1) / (2.0 * nu + d * (d + 1))


def r_rate(kernel: SpaceKernel, dimension: int) -> Rate:
    """R-GP-UCB: q = (1 - c) / (2 (4 - c)), which is 1/8 for SE."""
    return _rate(kernel, dimension, 4.0)


def tv_rate(kernel: SpaceKernel, dimension: int) -> Rate:
    """TV-GP-UCB: q = (1 - c) / (2 (3 - c)), which is 1/6 for SE."""
    return _rate(kernel, dimension, 3.0)


def corrected_tv_rate(kernel: SpaceKernel, dimension: int) -> Rate:
    """TV-GP-UCB by the corrected eq:weakened2: 1/5 for SE; not in the paper."""
    return _rate(kernel, dimension, 2.5)


def tight_tv_rate(kernel: SpaceKernel, dimension: int) -> Rate:
    """TV-GP-UCB by our tight form: q = (1 - c) / (2 (2 - c)), which is 1/4 for SE."""
    return _rate(kernel, dimension, 2.0)


def block_length(epsilon: float, horizon: int, kernel: SpaceKernel, dimension: int = 2) -> int:
    """R-GP-UCB's N: ceil(min(T, 12 eps^{-1/4})) for SE, ceil(min(T, 24 eps^{-1/(4-c)})) for Matern.

    Only Matern's c depends on the dimension; the default is that of the paper's experiments. The
    formula gives a length for every nu; the corollary covers only nu > 2.

    Examples
    --------
    >>> from heliotrope.kernels import RBF
    >>> block_length(0.01, 300, RBF(0.2))
    38
    """
    T, drift = as_whole(horizon, "horizon", least=1), Forgetting(epsilon).epsilon
    c = complexity(kernel, dimension)
    factor = _SE_BLOCK if smoothness(kernel) == inf else _MATERN_BLOCK
    if drift == 0.0 or factor >= T * drift ** (1.0 / (4.0 - c)):  # min(T, ...) without overflow
        return T
    return ceil(factor * float(drift ** (-1.0 / (4.0 - c))))


def _rate(kernel: SpaceKernel, dimension: int, power: float) -> Rate:
    """Balance N^{c-1} with N^{power-1} epsilon: N = eps^{-1/(power-c)}, R_T = T N^{-(1-c)/2}."""
    c, nu = complexity(kernel, dimension), smoothness(kernel)
    if nu <= _ROUGHEST:
        raise KernelError(f"an SE kernel, or a Matern kernel with nu > {_ROUGHEST}", f"nu = {nu:g}")
    return Rate((1.0 + c) / 2.0, 0.5 * (1.0 - c) / (power - c))
