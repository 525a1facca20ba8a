"""A space kernel that is a matrix over a Finite domain."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.errors import KernelError
from heliotrope.linalg import jittered_cholesky
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_array


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
