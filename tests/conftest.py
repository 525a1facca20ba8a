"""Shared settings of the tests."""

from collections.abc import Iterator

import pytest
import scipy.linalg  # noqa: F401 - so that its BLAS is there to be limited
from hypothesis import settings
from threadpoolctl import threadpool_limits

from postgres import NoServerError, Server, server

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fixed")

threadpool_limits(1)  # small matrices: threads of parallel test processes only get in the way


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for the tests, if one is available."""
    try:
        with server() as found:
            yield found
    except NoServerError as error:
        pytest.skip(str(error))
