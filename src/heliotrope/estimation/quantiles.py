"""Quantiles of distributions, without SciPy's statistics, which are slow to load."""

from heliotrope.lazy import lazy_module

special = lazy_module("scipy.special")


def chi_square_quantile(share: float, freedom: float) -> float:
    """Return the value below which a chi-square variable lies with probability ``share``.

    Examples
    --------
    >>> round(chi_square_quantile(0.95, 1.0), 3)
    3.841
    """
    return 2.0 * float(special.gammaincinv(0.5 * freedom, share))
