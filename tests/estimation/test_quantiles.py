"""Quantiles against SciPy's statistics."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from scipy.stats import chi2

from heliotrope.estimation.intervals import _FALL
from heliotrope.estimation.sum_fit import chi_square_quantile
from strategies import fixed


@given(share=st.floats(0.001, 0.999), freedom=st.floats(0.1, 1000.0))
@fixed(60)
def test_the_chi_square_quantile_is_scipys(share: float, freedom: float) -> None:
    np.testing.assert_allclose(
        chi_square_quantile(share, freedom), chi2.ppf(share, freedom), rtol=1e-12
    )


def test_the_fall_of_an_interval_is_a_95_percent_quantile() -> None:
    np.testing.assert_allclose(_FALL**2, chi_square_quantile(0.95, 1.0), rtol=1e-12)
