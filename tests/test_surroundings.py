"""Random streams: each generator depends only on the seed and the counter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from heliotrope.surroundings import RNGStream
from strategies import fixed


@given(seed=st.integers(0, 2**63 - 1), counter=st.integers(0, 10**9), drawn=st.integers(0, 5))
@fixed(40)
def test_a_stream_depends_on_seed_and_counter_alone(seed: int, counter: int, drawn: int) -> None:
    used = RNGStream(seed)
    used.at(counter + 1)().standard_normal(drawn)
    used.at(counter)().integers(7, size=drawn)
    expected = RNGStream(seed).at(counter)().random(4)
    np.testing.assert_array_equal(used.at(counter)().random(4), expected)
    for other in (
        RNGStream(seed).at(counter + 1)(),
        RNGStream(seed).at(counter, purpose=1)(),
        RNGStream((seed + 1) % 2**63).at(counter)(),
    ):
        assert not np.any(other.random(4) == expected)


def test_counters_of_one_seed_are_uncorrelated() -> None:
    """First draws of 2000 counters: mean and lag-one correlation within 5 standard errors."""
    stream = RNGStream(0)
    draws = np.array([stream.at(i)().standard_normal() for i in range(2000)])
    assert abs(draws.mean()) < 5 / np.sqrt(2000)
    assert abs(np.mean(draws[1:] * draws[:-1])) < 5 / np.sqrt(2000)
