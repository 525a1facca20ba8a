"""The Sobol sequence against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats.qmc import Sobol

from heliotrope.sobol import sobol


@pytest.mark.parametrize("dimension", [*range(1, 33), 40, 100])
def test_points_are_those_of_scipy(dimension: int) -> None:
    expected = Sobol(dimension, scramble=False).random(1024)
    np.testing.assert_array_equal(sobol(dimension, 1024), expected)
    np.testing.assert_array_equal(sobol(dimension, 1), expected[:1])
