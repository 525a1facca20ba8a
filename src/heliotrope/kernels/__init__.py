"""Space kernels: this package's own, scikit-learn's, or a matrix over a Finite domain.

>>> Matern(0.3, nu=2.5) * 2.0
Matern(length_scale=0.3, nu=2.5) * 1.41**2
"""

from heliotrope.kernels.over_domain import (
    DomainKernel as DomainKernel,
    SpaceKernel as SpaceKernel,
    Tabulated as Tabulated,
    as_multiple as as_multiple,
    check_kernel as check_kernel,
    is_space_kernel as is_space_kernel,
)
from heliotrope.kernels.own import (
    RBF as RBF,
    SMOOTHNESSES as SMOOTHNESSES,
    ConstantKernel as ConstantKernel,
    Kernel as Kernel,
    Matern as Matern,
    Product as Product,
    Sum as Sum,
)
from heliotrope.kernels.scikit import (
    Foreign as Foreign,
    PointKernel as PointKernel,
    has_white_noise as has_white_noise,
    is_kernel as is_kernel,
    native as native,
    rescaled as rescaled,
)
