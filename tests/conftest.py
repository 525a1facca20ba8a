"""Shared settings of the tests."""

import scipy.linalg  # noqa: F401 - so that its BLAS is there to be limited
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fixed")

threadpool_limits(1)  # small matrices: threads of parallel test processes only get in the way
