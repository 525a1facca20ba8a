"""Space kernels: this package's own, scikit-learn's, or a matrix over a Finite domain.

>>> Matern(0.3, nu=2.5) * 2.0
Matern(length_scale=0.3, nu=2.5) * 1.41**2
"""

from heliotrope.kernels.algebra import ConstantKernel, Kernel, Product, Sum
from heliotrope.kernels.domain_kernel import (
    DomainKernel,
    SpaceKernel,
    as_multiple,
    check_kernel,
    is_space_kernel,
)
from heliotrope.kernels.radial import RBF, SMOOTHNESSES, Matern
from heliotrope.kernels.scikit import (
    Foreign,
    PointKernel,
    has_white_noise,
    is_kernel,
    native,
    rescaled,
)
from heliotrope.kernels.table import Tabulated

__all__ = [
    "RBF",
    "SMOOTHNESSES",
    "ConstantKernel",
    "DomainKernel",
    "Foreign",
    "Kernel",
    "Matern",
    "PointKernel",
    "Product",
    "SpaceKernel",
    "Sum",
    "Tabulated",
    "as_multiple",
    "check_kernel",
    "has_white_noise",
    "is_kernel",
    "is_space_kernel",
    "native",
    "rescaled",
]
